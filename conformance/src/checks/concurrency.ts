import { isLeaseHeld, type Lease, type SessionLease } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";
import { CheckFailure, ensure, equal } from "../expectation.js";

const CONTENDERS = 8;
const ROUNDS = { memory: 1000, elsewhere: 100, quick: 10 } as const;

/** Case 13: whatever happens at once, happens one after the other. */
export const CONCURRENCY_CHECKS: readonly Check[] = [
  must(
    {
      id: "L13-one-grant",
      stake: "ownership",
      sentence:
        "Of many concurrent acquires of one session exactly one is granted, round after round, and the others are held.",
    },
    async (bench) => contend(bench, [bench.lease]),
  ),
  must(
    {
      id: "L13-one-grant-among-instances",
      stake: "ownership",
      requires: ["reopen"],
      sentence:
        "Of many concurrent acquires of one session through several leases on one store exactly one is granted.",
    },
    async (bench) => contend(bench, [bench.lease, await bench.reopen(), await bench.reopen(), await bench.reopen()]),
  ),
  must(
    {
      id: "L13-same-owner",
      stake: "fencing",
      sentence: "Concurrent acquires by one owner are all granted, all with one token.",
    },
    async (bench) => {
      const calls = Array.from({ length: CONTENDERS }, () => bench.lease.acquire("s", "a"));
      const grants = await bench.soon(Promise.all(calls), "concurrent acquires by one owner");
      equal(new Set(grants.map(({ token }) => token)).size, 1, "the number of different tokens");
    },
  ),
  must(
    {
      id: "L13-reclaim-race",
      stake: "ownership",
      needs: ["reasons"],
      sentence: "Of a reclaim and an acquire that meet on an expired lease exactly one is granted.",
    },
    async (bench) => {
      for (let round = 0; round < 20; round += 1) {
        const late = await bench.lease.acquire("s", `holder ${round}`);
        await bench.expire();
        const calls = [
          () => bench.lease.renew(late, { reclaimExpired: true }),
          () => bench.lease.acquire("s", `rival ${round}`),
        ];
        const winner = await oneWinner(bench, round % 2 === 0 ? calls : calls.reverse(), `round ${round}`);
        await bench.lease.release(winner);
      }
    },
  ),
  must(
    {
      id: "L13-independent",
      stake: "conduct",
      sentence: "Concurrent acquires of different sessions are all granted.",
    },
    async ({ lease }) => {
      const ids = Array.from({ length: 50 }, (_, place) => `session ${place}`);
      const grants = await Promise.all(ids.map((id) => lease.acquire(id, "a")));
      equal(
        grants.map(({ sessionId }) => sessionId),
        ids,
        "the sessions granted",
      );
    },
  ),
];

async function contend(bench: Bench, leases: readonly SessionLease[]): Promise<void> {
  let last = 0n;
  for (let round = 0; round < bench.rounds(ROUNDS); round += 1) {
    const calls = Array.from({ length: CONTENDERS }, (_, place) => () => {
      const lease = leases[(place + round) % leases.length] ?? bench.lease;
      return lease.acquire("s", `owner ${round}.${place}`);
    });
    const winner = await oneWinner(bench, calls, `round ${round}`);
    ensure(winner.token > last, `round ${round}: the token ${winner.token} came after ${last}`);
    last = winner.token;
    await bench.lease.release(winner);
  }
}

/** Starts every call before it waits for any; the one grant, if all others were held. */
async function oneWinner(bench: Bench, calls: readonly (() => Promise<Lease>)[], what: string): Promise<Lease> {
  const settled = await bench.soon(Promise.allSettled(calls.map((call) => call())), what);
  const winners: Lease[] = [];
  for (const result of settled) {
    if (result.status === "fulfilled") winners.push(result.value);
    else if (!isLeaseHeld(result.reason)) throw new CheckFailure(`${what}: a loser was told ${String(result.reason)}`);
  }
  const [winner] = winners;
  ensure(winner !== undefined && winners.length === 1, `${what}: ${winners.length} grants of ${calls.length} calls`);
  return winner;
}
