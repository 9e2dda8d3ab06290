import { type Check, must } from "../check.js";
import { equal } from "../expectation.js";

const needs = ["forceRelease"] as const;

/** Case 21, its first half: breaking a hold. */
export const FORCE_RELEASE_CHECKS: readonly Check[] = [
  must(
    {
      id: "L21-force-frees",
      stake: "power",
      needs,
      sentence: "Force-release of a live lease is true and frees it at once.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      equal(await bench.lease.forceRelease("s", { by: "an operator", reason: "stuck" }), true, "force-release");
      await bench.free("s", "after a force-release");
    },
  ),
  must(
    {
      id: "L21-force-nothing",
      stake: "power",
      needs,
      sentence:
        "Force-release is false where there is no live lease: never acquired, released, expired, or forced before.",
    },
    async (bench) => {
      const { lease } = bench;
      equal(await lease.forceRelease("never"), false, "force-release of nothing");
      await lease.release(await lease.acquire("released", "a"));
      equal(await lease.forceRelease("released"), false, "force-release of a released lease");
      await lease.acquire("forced", "a");
      await lease.forceRelease("forced");
      equal(await lease.forceRelease("forced"), false, "the second force-release");
      await lease.acquire("expired", "a");
      await bench.expire();
      equal(await lease.forceRelease("expired"), false, "force-release of an expired lease");
    },
  ),
  must(
    {
      id: "L21-force-expected",
      stake: "power",
      needs,
      sentence: "Force-release with the live hold's token as `expectedToken` frees it.",
    },
    async (bench) => {
      const { token } = await bench.lease.acquire("s", "a");
      equal(await bench.lease.forceRelease("s", { expectedToken: token }), true, "force-release");
      await bench.free("s", "after a force-release");
    },
  ),
  must(
    {
      id: "L21-force-unexpected",
      stake: "fencing",
      needs,
      sentence: "Force-release with another `expectedToken` is false and changes nothing.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      for (const expectedToken of [grant.token - 1n, grant.token + 1n]) {
        equal(await bench.lease.forceRelease("s", { expectedToken }), false, "force-release of another token");
      }
      equal((await bench.lease.renew(grant)).token, grant.token, "the holder's token");
    },
  ),
  must(
    {
      id: "L21-force-late-release",
      stake: "truth",
      needs: ["forceRelease", "releaseOutcome"],
      sentence: "The holder's release after a force-release answers `absent`.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      await lease.forceRelease("s");
      equal(await lease.release(grant), "absent", "a release after a force-release");
    },
  ),
  must(
    {
      id: "L21-force-corrupt",
      stake: "power",
      needs,
      requires: ["oracle.corrupt"],
      sentence: "Force-release removes a record that cannot be read, says so, and the session can be acquired again.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.oracle("corrupt")("s");
      equal(await bench.lease.forceRelease("s"), true, "force-release of a damaged record");
      await bench.free("s", "after a force-release");
    },
  ),
  must(
    {
      id: "L21-force-corrupt-token",
      stake: "fencing",
      needs,
      requires: ["oracle.corrupt"],
      sentence: "The token grows over a record that could not be read, once the clock has passed the last token.",
    },
    async (bench) => {
      const { token } = await bench.lease.acquire("s", "a");
      await bench.oracle("corrupt")("s");
      await bench.lease.forceRelease("s");
      await bench.advance(1 + bench.grain);
      const next = await bench.lease.acquire("s", "b");
      equal(next.token > token, true, `whether ${next.token} is above ${token}`);
    },
  ),
];
