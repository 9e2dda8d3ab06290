import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

/** Case 6: what a renewal changes, and what it keeps. */
export const RENEW_CHECKS: readonly Check[] = [
  must(
    { id: "L06-token", stake: "fencing", sentence: "A renewal keeps session, owner and token." },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      const { sessionId, owner, token } = await lease.renew(grant);
      equal({ sessionId, owner, token }, { sessionId: "s", owner: "a", token: grant.token }, "the renewal");
    },
  ),
  must(
    { id: "L06-expiry", stake: "ownership", sentence: "A renewal moves the expiry to one ttl from now." },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const passed = Math.floor(bench.ttl / 3);
      await bench.advance(passed);
      const renewed = await bench.lease.renew(grant);
      bench.near(renewed.expiry - grant.expiry, passed, "what the expiry moved by");
    },
  ),
  must(
    {
      id: "L06-keeps-rivals-out",
      stake: "ownership",
      sentence: "Renewed in time, a lease lives on for as long as its holder likes.",
    },
    async (bench) => {
      let grant = await bench.lease.acquire("s", "a");
      for (let round = 0; round < 4; round += 1) {
        await bench.advance(Math.floor(bench.ttl / 2));
        grant = await bench.lease.renew(grant);
        await bench.contended("s", `after renewal ${round + 1}`);
      }
    },
  ),
  must(
    {
      id: "L06-dies-after",
      stake: "ownership",
      sentence: "A renewal lasts one ttl and no longer.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.advance(Math.floor(bench.ttl / 2));
      await bench.lease.renew(grant);
      await bench.expire();
      await bench.free("s", "one ttl after the renewal");
    },
  ),
  must(
    {
      id: "L06-own-ttl",
      stake: "truth",
      needs: ["ttl"],
      sentence: "A renewal without a ttl keeps the record's, not the lease's own.",
    },
    async (bench) => {
      const ttl = bench.ttl * 2;
      const grant = await bench.lease.acquire("s", "a", { ttl });
      const renewed = await bench.lease.renew(grant);
      equal(renewed.ttl, grant.ttl, "the renewal's ttl");
      await bench.advance(bench.ttl + bench.grain);
      await bench.contended("s", "before the record's ttl was over");
    },
  ),
  must(
    {
      id: "L06-given-ttl",
      stake: "truth",
      needs: ["ttl"],
      sentence: "A ttl given to a renewal becomes the record's: the next renewal uses it too.",
    },
    async (bench) => {
      const ttl = bench.ttl * 2;
      const grant = await bench.lease.acquire("s", "a");
      const longer = await bench.lease.renew(grant, { ttl });
      ensure(longer.ttl >= ttl, `${ttl} ms were asked for, and ${longer.ttl} ms told`);
      bench.near(longer.expiry - grant.expiry, ttl - bench.ttl, "what the expiry moved by");
      equal((await bench.lease.renew(longer)).ttl, longer.ttl, "the next renewal's ttl");
    },
  ),
  must(
    {
      id: "L06-shortens",
      stake: "truth",
      needs: ["ttl"],
      sentence: "A renewal with a shorter ttl shortens the lease.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a", { ttl: bench.ttl * 4 });
      await bench.lease.renew(grant, { ttl: bench.ttl });
      await bench.expire();
      await bench.free("s", "after the shorter ttl");
    },
  ),
  must(
    {
      id: "L06-acquired-at",
      stake: "truth",
      needs: ["inspect"],
      sentence: "A renewal keeps `acquiredAt`.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const before = await bench.lease.inspect("s");
      await bench.advance(Math.floor(bench.ttl / 2));
      await bench.lease.renew(grant);
      equal((await bench.lease.inspect("s"))?.acquiredAt, before?.acquiredAt, "acquiredAt");
    },
  ),
  must(
    {
      id: "L06-metadata",
      stake: "truth",
      needs: ["inspect", "metadata"],
      sentence: "A renewal keeps the metadata.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a", { metadata: { k: "v" } });
      await lease.renew(grant);
      equal({ ...(await lease.inspect("s"))?.metadata }, { k: "v" }, "the metadata");
    },
  ),
  must(
    {
      id: "L06-old-value",
      stake: "ownership",
      sentence: "Any lease value of a hold renews it, not only the newest: what is compared is owner and token.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      // The renewal in between has another expiry, so that a lease which compares more than it should gives itself away.
      await bench.advance(Math.floor(bench.ttl / 4));
      await bench.lease.renew(grant);
      await bench.advance(Math.floor(bench.ttl / 4));
      equal((await bench.lease.renew(grant)).token, grant.token, "the token");
    },
  ),
  must(
    {
      id: "L06-by-owner",
      stake: "truth",
      needs: ["releaseByOwner"],
      sentence: "An owner that never learnt its token renews without one, and is told it.",
    },
    async ({ lease }) => {
      const { token } = await lease.acquire("s", "a");
      equal((await lease.renew({ sessionId: "s", owner: "a" })).token, token, "the token");
    },
  ),
];
