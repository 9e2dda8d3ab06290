import type { LeaseHeldError } from "@leasehold/session-lease";
import { type Check, must, should } from "../check.js";
import { ensure, equal, failure, refused } from "../expectation.js";

/** Cases 1 to 3: what a grant says, what contention is, and what asking again means. */
export const ACQUIRE_CHECKS: readonly Check[] = [
  must(
    { id: "L01-grant", stake: "ownership", sentence: "Acquire of a free session grants it to the owner that asked." },
    async ({ lease }) => {
      const { sessionId, owner } = await lease.acquire("s", "a");
      equal({ sessionId, owner }, { sessionId: "s", owner: "a" }, "the grant");
    },
  ),
  must(
    { id: "L01-token", stake: "fencing", sentence: "A grant carries a token, a bigint of at least 1." },
    async ({ lease }) => {
      const { token } = await lease.acquire("s", "a");
      equal(typeof token, "bigint", "the type of the token");
      ensure(token >= 1n, `the token is ${token}`);
    },
  ),
  must(
    {
      id: "L01-expiry",
      stake: "ownership",
      requires: ["now"],
      sentence: "A grant expires one ttl after now, on the authority's clock.",
    },
    async (bench) => {
      const now = await bench.now();
      const { expiry } = await bench.lease.acquire("s", "a");
      bench.near(expiry, now + bench.ttl, "the expiry");
    },
  ),
  must(
    {
      id: "L01-value",
      stake: "conduct",
      sentence: "A lease is a value: a renewal returns a new one and leaves the old one as it was.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const before = { ...grant };
      await bench.advance(Math.floor(bench.ttl / 2));
      const renewed = await bench.lease.renew(grant);
      ensure(renewed !== grant, "renew returned the very object that it was given");
      equal({ ...grant }, before, "the lease that was renewed");
    },
  ),
  must(
    {
      id: "L02-held",
      stake: "ownership",
      sentence: "Acquire by another owner of a live session is refused as held, and without the reason of a loss.",
    },
    async ({ lease }) => {
      await lease.acquire("s", "a");
      const error = (await refused(lease.acquire("s", "b"), "held", "an acquire by another owner")) as LeaseHeldError;
      equal(error.reason, undefined, "the reason");
    },
  ),
  must(
    {
      id: "L02-retry-after",
      stake: "truth",
      // Who cannot tell reasons speaks the seed's protocol, which has no word for the time left either.
      needs: ["reasons"],
      sentence: "Contention tells the time left: `retryAfterMs`, the live hold's ttl less what has passed.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const passed = Math.floor(bench.ttl / 4);
      await bench.advance(passed);
      const error = await failure(bench.lease.acquire("s", "b"), "an acquire by another owner: expected to be refused");
      const { retryAfterMs } = error as LeaseHeldError;
      bench.near(retryAfterMs ?? Number.NaN, bench.ttl - passed, "retryAfterMs");
    },
  ),
  should(
    {
      id: "L02-held-for",
      stake: "truth",
      needs: ["reasons"],
      sentence: "Contention tells for how long the live hold has lasted: `heldForMs`.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const passed = Math.floor(bench.ttl / 4);
      await bench.advance(passed);
      const error = await failure(bench.lease.acquire("s", "b"), "an acquire by another owner: expected to be refused");
      bench.near((error as LeaseHeldError).heldForMs ?? Number.NaN, passed, "heldForMs");
    },
  ),
  must(
    {
      id: "L02-no-trace",
      stake: "ownership",
      requires: ["oracle.read"],
      sentence: "A contended acquire leaves the stored record as it was, to the byte.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const read = bench.oracle("read");
      const before = await read("s");
      await bench.advance(Math.floor(bench.ttl / 4));
      await bench.contended("s", "an acquire by another owner");
      equal(await read("s"), before, "the record");
    },
  ),
  must(
    {
      id: "L02-holder-unharmed",
      stake: "ownership",
      sentence: "A contended acquire costs the holder nothing: it renews with its token.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.contended("s", "an acquire by another owner");
      equal((await bench.lease.renew(grant)).token, grant.token, "the holder's token");
    },
  ),
  must(
    {
      id: "L02-metadata-refused",
      stake: "ownership",
      needs: ["inspect", "metadata"],
      sentence: "A contended acquire does not bring its metadata into the holder's record.",
    },
    async ({ lease }) => {
      await lease.acquire("s", "a", { metadata: { by: "a" } });
      await lease.acquire("s", "b", { metadata: { by: "b" } }).catch(() => undefined);
      equal({ ...(await lease.inspect("s"))?.metadata }, { by: "a" }, "the holder's metadata");
    },
  ),
  must(
    { id: "L03-token", stake: "fencing", sentence: "Acquire by the holder of a live session keeps the token." },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.advance(Math.floor(bench.ttl / 2));
      equal((await bench.lease.acquire("s", "a")).token, first.token, "the token of the second acquire");
    },
  ),
  must(
    {
      id: "L03-expiry",
      stake: "ownership",
      sentence: "Acquire by the holder of a live session moves the expiry to one ttl from now.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      const passed = Math.floor(bench.ttl / 2);
      await bench.advance(passed);
      const second = await bench.lease.acquire("s", "a");
      bench.near(second.expiry - first.expiry, passed, "what the expiry moved by");
      await bench.advance(bench.ttl - passed + 2 * bench.grain);
      await bench.contended("s", "one ttl after the first acquire");
    },
  ),
  must(
    {
      id: "L03-own-ttl",
      stake: "truth",
      needs: ["ttl"],
      sentence: "A live re-acquire without a ttl uses the lease's own, not the record's.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a", { ttl: bench.ttl * 3 });
      equal((await bench.lease.acquire("s", "a")).ttl, bench.ttl, "the ttl of the second acquire");
    },
  ),
  must(
    {
      id: "L03-given-ttl",
      stake: "truth",
      needs: ["ttl"],
      sentence: "A live re-acquire with a ttl uses that one, also when it is shorter.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a", { ttl: bench.ttl * 3 });
      const second = await bench.lease.acquire("s", "a", { ttl: bench.ttl });
      bench.near(second.expiry - first.expiry, -2 * bench.ttl, "what the expiry moved by");
    },
  ),
  must(
    {
      id: "L03-acquired-at",
      stake: "truth",
      needs: ["inspect"],
      sentence: "A live re-acquire goes on with the same hold: `acquiredAt` stays.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const before = await bench.lease.inspect("s");
      await bench.advance(Math.floor(bench.ttl / 2));
      await bench.lease.acquire("s", "a");
      equal((await bench.lease.inspect("s"))?.acquiredAt, before?.acquiredAt, "acquiredAt");
    },
  ),
  must(
    {
      id: "L03-above",
      stake: "fencing",
      requires: ["above"],
      sentence: "`above` counts in takeovers only: a live re-acquire keeps the token, whatever it is given.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      const second = await lease.acquire("s", "a", { above: first.token + 1000n });
      equal(second.token, first.token, "the token of the second acquire");
    },
  ),
];
