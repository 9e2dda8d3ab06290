import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

const needs = ["transfer"] as const;

/** Case 20: handing a live lease over, in one step. */
export const TRANSFER_CHECKS: readonly Check[] = [
  must(
    { id: "L20-grant", stake: "ownership", needs, sentence: "A transfer grants the session to the new owner." },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const handed = await bench.lease.transfer(grant, "b");
      equal({ id: handed.sessionId, owner: handed.owner }, { id: "s", owner: "b" }, "the grant");
      equal((await bench.lease.renew(handed)).token, handed.token, "the new owner's token");
    },
  ),
  must(
    { id: "L20-token", stake: "fencing", needs, sentence: "The token grows over a transfer, also to the same owner." },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      const handed = await lease.transfer(grant, "b");
      ensure(handed.token > grant.token, `the token went from ${grant.token} to ${handed.token}`);
      const again = await lease.transfer(handed, "b");
      ensure(again.token > handed.token, `to the same owner, the token went from ${handed.token} to ${again.token}`);
    },
  ),
  must(
    { id: "L20-old-holder", stake: "ownership", needs, sentence: "The old holder's next renewal is held, taken." },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.transfer(grant, "b");
      await bench.lost(bench.lease.renew(grant), "taken", "a renewal by the old holder");
    },
  ),
  must(
    {
      id: "L20-old-release",
      stake: "ownership",
      needs,
      sentence: "The old holder's release after a transfer leaves the new one alone.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.transfer(grant, "b");
      await bench.lease.release(grant).catch(() => undefined);
      await bench.contended("s", "after the old holder's release");
    },
  ),
  must(
    {
      id: "L20-full-ttl",
      stake: "truth",
      needs: ["transfer", "ttl"],
      sentence: "A transfer gives the record's full ttl from now.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a", { ttl: bench.ttl * 2 });
      const passed = Math.floor(bench.ttl / 2);
      await bench.advance(passed);
      const handed = await bench.lease.transfer(grant, "b");
      equal(handed.ttl, grant.ttl, "the ttl");
      bench.near(handed.expiry - grant.expiry, passed, "what the expiry moved by");
    },
  ),
  must(
    {
      id: "L20-given-ttl",
      stake: "truth",
      needs: ["transfer", "ttl"],
      sentence: "A ttl given to a transfer becomes the record's.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const handed = await bench.lease.transfer(grant, "b", { ttl: bench.ttl * 2 });
      bench.near(handed.expiry - grant.expiry, handed.ttl - grant.ttl, "what the expiry moved by");
      ensure(handed.ttl >= bench.ttl * 2, `${bench.ttl * 2} ms were asked for, and ${handed.ttl} ms granted`);
      equal((await bench.lease.renew(handed)).ttl, handed.ttl, "the next renewal's ttl");
    },
  ),
  must(
    {
      id: "L20-metadata",
      stake: "truth",
      needs: ["transfer", "metadata", "inspect"],
      sentence: "A transfer keeps the metadata.",
    },
    async ({ lease }) => {
      await lease.transfer(await lease.acquire("s", "a", { metadata: { k: "v" } }), "b");
      equal({ ...(await lease.inspect("s"))?.metadata }, { k: "v" }, "the metadata");
    },
  ),
  must(
    {
      id: "L20-acquired-at",
      stake: "truth",
      needs: ["transfer", "inspect"],
      sentence: "A transfer begins a hold: `acquiredAt` is its own instant.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const before = await bench.lease.inspect("s");
      const passed = Math.floor(bench.ttl / 2);
      await bench.advance(passed);
      await bench.lease.transfer(grant, "b");
      const after = await bench.lease.inspect("s");
      bench.near((after?.acquiredAt ?? Number.NaN) - (before?.acquiredAt ?? 0), passed, "what acquiredAt moved by");
    },
  ),
  must(
    {
      id: "L20-expired",
      stake: "ownership",
      needs,
      sentence: "An expired lease cannot be transferred, and stays free.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lost(bench.lease.transfer(grant, "b"), "expired", "a transfer after expiry");
      await bench.free("s", "after a refused transfer");
    },
  ),
  must(
    {
      id: "L20-released",
      stake: "ownership",
      needs,
      sentence: "A released lease cannot be transferred, and stays free.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant);
      await bench.lost(bench.lease.transfer(grant, "b"), "released", "a transfer after a release");
      await bench.free("s", "after a refused transfer");
    },
  ),
  must(
    {
      id: "L20-nothing",
      stake: "ownership",
      needs,
      sentence: "A transfer of nothing is held, deleted, and creates nothing.",
    },
    async (bench) => {
      const never = { sessionId: "s", owner: "a", token: 5n };
      await bench.lost(bench.lease.transfer(never, "b"), "deleted", "a transfer of nothing");
      await bench.free("s", "after a refused transfer");
    },
  ),
  must(
    {
      id: "L20-stranger",
      stake: "ownership",
      needs,
      sentence: "Only the holder, by owner and token, can transfer; anybody else changes nothing.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const thief = bench.lease.transfer({ ...grant, owner: "b" }, "b");
      await bench.lost(thief, "taken", "a transfer by another owner");
      const stale = bench.lease.transfer({ ...grant, token: grant.token + 1n }, "b");
      await bench.lost(stale, "taken", "a transfer with another token");
      equal((await bench.lease.renew(grant)).token, grant.token, "the holder's token");
    },
  ),
];
