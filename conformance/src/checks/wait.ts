import type { Lease } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";

/** What wakes a waiter, and how it is brought about. `held` is the live hold of "s" that "a" has. */
const CAUSES: readonly Readonly<{
  id: string;
  sentence: string;
  needs?: Check["needs"];
  bring(bench: Bench, held: Lease): Promise<unknown>;
}>[] = [
  {
    id: "release",
    sentence: "A waiter is woken by the holder's release.",
    bring: ({ lease }, held) => lease.release(held),
  },
  {
    id: "expiry",
    sentence: "A waiter is woken when the hold runs out, though nothing is written then.",
    bring: (bench) => bench.expire(),
  },
  {
    id: "force",
    sentence: "A waiter is woken by a force-release.",
    needs: ["forceRelease"],
    bring: ({ lease }) => lease.forceRelease("s"),
  },
  {
    id: "transfer",
    sentence: "A waiter is woken by a transfer.",
    needs: ["transfer"],
    bring: ({ lease }, held) => lease.transfer(held, "b"),
  },
  {
    id: "request",
    sentence: "A waiter, such as the holder itself, is woken by a request to release.",
    needs: ["requestRelease"],
    bring: ({ lease }) => lease.requestRelease("s"),
  },
];

/** The wake-ups of `waitForChange` (cases 21 and 22). That it may also wake for nothing is its right, so nothing forbids it. */
export const WAIT_CHECKS: readonly Check[] = [
  ...CAUSES.map(({ id, sentence, needs = [], bring }) =>
    must({ id: `L22-wakes-on-${id}`, stake: "power", needs: ["waitForChange", ...needs], sentence }, async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      const waiting = bench.waiting();
      await bench.advance(1);
      await bring(bench, held);
      await bench.soon(waiting, `a wait, after ${id}`);
    }),
  ),
  must(
    {
      id: "L22-wakes-on-grant",
      stake: "power",
      needs: ["waitForChange"],
      sentence: "A waiter on a free session is woken when somebody acquires it.",
    },
    async (bench) => {
      const waiting = bench.waiting();
      await bench.advance(1);
      await bench.lease.acquire("s", "a");
      await bench.soon(waiting, "a wait, after an acquire");
    },
  ),
  must(
    {
      id: "L22-wait-misses-nothing",
      stake: "power",
      needs: ["waitForChange"],
      sentence: "A change between the call and its await is not missed: call first, try second, await third.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      const waiting = bench.waiting();
      await bench.lease.release(held);
      await bench.soon(waiting, "a wait that was called just before the release");
    },
  ),
  must(
    {
      id: "L22-wakes-across-instances",
      stake: "power",
      needs: ["waitForChange"],
      requires: ["reopen"],
      sentence: "A waiter is woken by a release through another lease on the same store.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      const second = await bench.reopen();
      const waiting = bench.waiting(second);
      await bench.advance(1);
      await bench.lease.release(held);
      await bench.soon(waiting, "a wait through another lease");
    },
  ),
];
