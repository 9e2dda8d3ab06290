import { type Check, must } from "../check.js";
import { equal } from "../expectation.js";

const needs = ["requestRelease"] as const;
const NOTE = { by: "an operator", reason: "maintenance" } as const;

/** Case 22: asking the holder to let go, which binds nobody. */
export const REQUEST_CHECKS: readonly Check[] = [
  must(
    {
      id: "L22-seen-by-holder",
      stake: "power",
      needs,
      sentence: "A request of a live hold is true, and the holder sees it in the answer to its next renewal.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      equal(await lease.requestRelease("s", NOTE), true, "the request");
      const { releaseRequested } = await lease.renew(grant);
      equal({ by: releaseRequested?.by, reason: releaseRequested?.reason }, NOTE, "what the holder sees");
    },
  ),
  must(
    {
      id: "L22-at",
      stake: "truth",
      needs,
      requires: ["now"],
      sentence: "A request carries the instant at which it was made, on the authority's clock.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.advance(Math.floor(bench.ttl / 4));
      const now = await bench.now();
      await bench.lease.requestRelease("s", NOTE);
      const { releaseRequested } = await bench.lease.renew(grant);
      bench.near(releaseRequested?.at ?? Number.NaN, now, "the instant of the request");
    },
  ),
  must(
    {
      id: "L22-seen-on-reacquire",
      stake: "power",
      needs,
      sentence: "The holder sees a request also when it acquires again, which is how it recovers a lost answer.",
    },
    async ({ lease }) => {
      await lease.acquire("s", "a");
      await lease.requestRelease("s", NOTE);
      equal((await lease.acquire("s", "a")).releaseRequested?.by, NOTE.by, "who asked");
    },
  ),
  must(
    {
      id: "L22-changes-nothing-else",
      stake: "ownership",
      needs: ["requestRelease", "inspect"],
      sentence: "A request changes neither owner, token, expiry, ttl nor metadata.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const before = await bench.lease.inspect("s");
      await bench.advance(Math.floor(bench.ttl / 4));
      await bench.lease.requestRelease("s", NOTE);
      const { releaseRequested, ...after } = { ...(await bench.lease.inspect("s")) };
      equal(after, { ...before }, "the hold beside the request");
      equal(releaseRequested?.by, NOTE.by, "who asked, as an observer sees it");
    },
  ),
  must(
    {
      id: "L22-binds-nobody",
      stake: "ownership",
      needs,
      sentence: "A request lets nobody else in, and the holder may renew as before.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.requestRelease("s", NOTE);
      await bench.contended("s", "after a request");
      equal((await bench.lease.renew(grant)).token, grant.token, "the holder's token");
    },
  ),
  must(
    {
      id: "L22-nobody-to-ask",
      stake: "power",
      needs,
      sentence: "A request is false without a live hold: never acquired, released, or expired.",
    },
    async (bench) => {
      const { lease } = bench;
      equal(await lease.requestRelease("never", NOTE), false, "a request of nothing");
      await lease.release(await lease.acquire("released", "a"));
      equal(await lease.requestRelease("released", NOTE), false, "a request of a released lease");
      await lease.acquire("expired", "a");
      await bench.expire();
      equal(await lease.requestRelease("expired", NOTE), false, "a request of an expired lease");
    },
  ),
  must(
    {
      id: "L22-expected",
      stake: "fencing",
      needs,
      sentence: "A request with another `expectedToken` is false and unseen; with the right one it is true.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      const { token } = grant;
      equal(await lease.requestRelease("s", { ...NOTE, expectedToken: token + 1n }), false, "another token's request");
      equal((await lease.renew(grant)).releaseRequested, undefined, "what the holder sees of it");
      equal(await lease.requestRelease("s", { ...NOTE, expectedToken: token }), true, "the right token's request");
    },
  ),
  must(
    {
      id: "L22-repeated",
      stake: "power",
      needs,
      sentence: "A repeated request is true and changes nothing: the first one stands.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.requestRelease("s", NOTE);
      const { releaseRequested } = await bench.lease.renew(grant);
      await bench.advance(Math.floor(bench.ttl / 4));
      equal(await bench.lease.requestRelease("s", { by: "another" }), true, "the second request");
      equal((await bench.lease.renew(grant)).releaseRequested, releaseRequested, "what the holder sees");
    },
  ),
  must(
    {
      id: "L22-cleared-by-release",
      stake: "power",
      needs,
      sentence: "A release clears the request: the next holder sees none.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      await lease.requestRelease("s", NOTE);
      await lease.release(grant);
      equal((await lease.acquire("s", "a")).releaseRequested, undefined, "what the next hold sees");
    },
  ),
  must(
    {
      id: "L22-cleared-by-takeover",
      stake: "power",
      needs,
      sentence: "A takeover clears the request: the next holder sees none.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.lease.requestRelease("s", NOTE);
      await bench.expire();
      equal((await bench.lease.acquire("s", "b")).releaseRequested, undefined, "what the next holder sees");
    },
  ),
  must(
    {
      id: "L22-cleared-by-transfer",
      stake: "power",
      needs: ["requestRelease", "transfer"],
      sentence: "A transfer clears the request: the new holder sees none.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      await lease.requestRelease("s", NOTE);
      equal((await lease.transfer(grant, "b")).releaseRequested, undefined, "what the new holder sees");
    },
  ),
];
