import { MAX_TTL } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

const CYCLES = { memory: 100_000, elsewhere: 2000, quick: 50 } as const;

/** One session acquired and given up, and time enough for it to be forgotten; its token. */
async function forgotten(bench: Bench): Promise<bigint> {
  const grant = await bench.lease.acquire("s", "a");
  await bench.lease.release(grant);
  await pass(bench);
  return grant.token;
}

/** Twice `forgetAfter` and a little: once for the record's age, once for whoever sweeps only so often. */
const pass = (bench: Bench): Promise<void> => bench.advance(2 * bench.forgetAfter + 10_000 + bench.grain);

/** Case 24: nothing grows for ever, and what was forgotten is still never repeated. */
export const FORGETTING_CHECKS: readonly Check[] = [
  must(
    {
      id: "L24-no-growth",
      stake: "conduct",
      requires: ["forgetAfter", "oracle.size"],
      sentence: "Many sessions acquired and released leave nothing in the store once `forgetAfter` has passed.",
    },
    async (bench) => {
      const size = bench.oracle("size");
      const before = await size();
      for (let cycle = 0; cycle < bench.rounds(CYCLES); cycle += 1) {
        await bench.lease.release(await bench.lease.acquire(`session ${cycle}`, "a"));
      }
      await pass(bench);
      await bench.until(
        async () => (await size()) <= before,
        async () => `the store keeps ${await size()}, not ${before}`,
      );
    },
  ),
  must(
    {
      id: "L24-expired-too",
      stake: "conduct",
      requires: ["forgetAfter", "oracle.size"],
      sentence: "Holds that were never released are forgotten too, `forgetAfter` after their expiry.",
    },
    async (bench) => {
      const size = bench.oracle("size");
      const before = await size();
      for (let session = 0; session < 10; session += 1) await bench.lease.acquire(`session ${session}`, "a");
      await bench.expire();
      await pass(bench);
      await bench.until(
        async () => (await size()) <= before,
        async () => `the store keeps ${await size()}, not ${before}`,
      );
    },
  ),
  must(
    {
      id: "L24-higher-token",
      stake: "fencing",
      requires: ["forgetAfter"],
      sentence: "A session that was forgotten gets a higher token than before.",
    },
    async (bench) => {
      const last = await forgotten(bench);
      const { token } = await bench.lease.acquire("s", "a");
      ensure(token > last, `the token ${token} came after ${last}`);
    },
  ),
  must(
    {
      id: "L24-higher-token-stepped-back",
      stake: "fencing",
      requires: ["forgetAfter", "step", "oracle.size"],
      sentence:
        "A session that was forgotten gets a higher token also with the clock stepped back by less than `forgetAfter`.",
    },
    async (bench) => {
      // As soon as it may be forgotten: later, a step back would prove nothing.
      const size = bench.oracle("size");
      const before = await size();
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant);
      await bench.advance(bench.forgetAfter);
      await bench.until(
        async () => (await size()) <= before,
        async () => "the session has not been forgotten",
      );
      await bench.step(1 - bench.forgetAfter);
      const { token } = await bench.lease.acquire("s", "a");
      ensure(token > grant.token, `the token ${token} came after ${grant.token}`);
    },
  ),
  must(
    {
      id: "L24-nothing-before",
      stake: "truth",
      requires: ["forgetAfter", "oracle.size"],
      sentence: "A session that was forgotten begins anew: its next grant tells of no hold before it.",
    },
    async (bench) => {
      const size = bench.oracle("size");
      const before = await size();
      await forgotten(bench);
      await bench.until(
        async () => (await size()) <= before,
        async () => "the session has not been forgotten",
      );
      equal((await bench.lease.acquire("s", "a")).previous, undefined, "previous");
    },
  ),
  must(
    {
      id: "L24-not-too-early",
      stake: "fencing",
      needs: ["reasons"],
      requires: ["forgetAfter", "exact"],
      sentence: "Until `forgetAfter` has passed, a dead record is kept: the next holder learns how its hold ended.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant);
      await bench.advance(bench.forgetAfter - 1);
      equal((await bench.lease.acquire("s", "b")).previous?.token, grant.token, "the token of the hold before");
    },
  ),
  must(
    {
      id: "L24-future-token",
      stake: "fencing",
      requires: ["forgetAfter", "above"],
      sentence: "A record whose token lies ahead of the clock is not forgotten: the clock could not seed a higher one.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a", { above: 2n ** 60n });
      await bench.lease.release(grant);
      await pass(bench);
      const { token } = await bench.lease.acquire("s", "b");
      ensure(token > grant.token, `the token ${token} came after ${grant.token}`);
    },
  ),
  must(
    {
      id: "L24-live",
      stake: "ownership",
      needs: ["ttl"],
      requires: ["forgetAfter"],
      sentence: "A live hold is never forgotten, however long it lasts.",
    },
    async (bench) => {
      const ttl = Math.min(MAX_TTL, 10 * bench.forgetAfter);
      await bench.lease.acquire("s", "a", { ttl });
      await bench.lease.release(await bench.lease.acquire("t", "a"));
      await bench.advance(Math.min(3 * bench.forgetAfter, ttl - 1 - bench.grain));
      await bench.contended("s", "while the hold was live");
    },
  ),
];
