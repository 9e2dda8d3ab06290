import { type CallOptions, type FullSessionLease, isLeaseAborted, type Lease } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";
import { equal, refused } from "../expectation.js";

const REASON = new Error("the caller has changed its mind");

/** Every call of the core on a session that `held` holds. */
const CORE: readonly (readonly [
  string,
  (lease: FullSessionLease, held: Lease, options: CallOptions) => Promise<unknown>,
])[] = [
  ["acquire", (lease, _held, options) => lease.acquire("another session", "a", options)],
  ["renew", (lease, held, options) => lease.renew(held, options)],
  ["release", (lease, held, options) => lease.release(held, options)],
];

/** Begins a call, and aborts it when it has reached the authority and has not been answered. It must say so promptly. */
async function abortInFlight(
  bench: Bench,
  start: (signal: AbortSignal) => Promise<unknown>,
  what: string,
): Promise<void> {
  const resume = await bench.stall();
  const controller = new AbortController();
  const call = start(controller.signal);
  call.catch(() => undefined);
  await bench.advance(0);
  controller.abort(REASON);
  try {
    await refused(bench.soon(call, what), "aborted", what);
  } finally {
    await resume();
  }
}

/** Begins a call and aborts it in the same turn; what the caller is told, and time enough for what follows it. */
async function abortAtOnce(bench: Bench, start: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const controller = new AbortController();
  const call = start(controller.signal).catch((error: unknown) => error);
  controller.abort(REASON);
  const answer = await bench.soon(call, "a call, aborted at once");
  await bench.advance(Math.floor(bench.ttl / 10));
  return answer;
}

/** Case 15: a caller that gives up is told at once, and leaves nothing behind. */
export const ABORT_CHECKS: readonly Check[] = [
  must(
    {
      id: "L15-before",
      stake: "conduct",
      sentence: "A call whose signal is already aborted is refused as aborted, with the signal's reason as its cause.",
    },
    async ({ lease }) => {
      const held = await lease.acquire("s", "a");
      for (const [name, call] of CORE) {
        const error = await refused(call(lease, held, { signal: AbortSignal.abort(REASON) }), "aborted", name);
        equal(error.cause, REASON, `the cause of the aborted ${name}`);
      }
    },
  ),
  must(
    {
      id: "L15-before-acquire",
      stake: "ownership",
      sentence: "An acquire that was aborted before it began grants nothing.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a", { signal: AbortSignal.abort() }).catch(() => undefined);
      await bench.free("s", "after an aborted acquire");
    },
  ),
  must(
    {
      id: "L15-before-release",
      stake: "ownership",
      sentence: "A release that was aborted before it began frees nothing.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant, { signal: AbortSignal.abort() }).catch(() => undefined);
      await bench.contended("s", "after an aborted release");
    },
  ),
  must(
    {
      id: "L15-before-no-request",
      stake: "conduct",
      requires: ["oracle.requests"],
      sentence: "A call whose signal is already aborted sends no request at all.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      const requests = bench.oracle("requests");
      for (const [name, call] of CORE) {
        const before = await requests();
        await call(bench.lease, held, { signal: AbortSignal.abort() }).catch(() => undefined);
        await bench.advance(0);
        equal((await requests()) - before, 0, `the number of requests of an aborted ${name}`);
      }
    },
  ),
  must(
    {
      id: "L15-in-flight",
      stake: "conduct",
      requires: ["stall"],
      sentence: "A call aborted in flight rejects promptly, as aborted.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      for (const [name, call] of CORE) {
        await abortInFlight(bench, (signal) => call(bench.lease, held, { signal }), `${name}, aborted in flight`);
      }
    },
  ),
  must(
    {
      id: "L15-late-grant",
      stake: "ownership",
      requires: ["stall"],
      sentence: "A grant that arrives after its acquire was aborted is given back, long before its ttl is over.",
    },
    async (bench) => {
      await abortInFlight(bench, (signal) => bench.lease.acquire("s", "a", { signal }), "an acquire in flight");
      await bench.onceFree(() => bench.lease.acquire("s", "b"), "the session of an aborted acquire");
    },
  ),
  must(
    {
      id: "L15-told-truly",
      stake: "ownership",
      sentence:
        "Who aborts an acquire at once is told the truth: aborted, and nothing stays held; or granted, and it is.",
    },
    async (bench) => {
      const answer = await abortAtOnce(bench, (signal) => bench.lease.acquire("s", "a", { signal }));
      if (isLeaseAborted(answer)) await bench.onceFree(() => bench.lease.acquire("s", "b"), "an aborted acquire");
      else equal((await bench.lease.renew(answer as Lease)).owner, "a", "the holder after a grant");
    },
  ),
  must(
    {
      id: "L15-holder-unharmed",
      stake: "ownership",
      sentence: "What follows an aborted acquire of a held session leaves the holder alone.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await abortAtOnce(bench, (signal) => bench.lease.acquire("s", "b", { signal }));
      await bench.contended("s", "after an aborted acquire by another owner");
      equal((await bench.lease.renew(grant)).token, grant.token, "the holder's token");
    },
  ),
  must(
    {
      id: "L15-renew-keeps",
      stake: "ownership",
      sentence: "An aborted renewal gives nothing back: the hold stands.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await abortAtOnce(bench, (signal) => bench.lease.renew(grant, { signal }));
      await bench.contended("s", "after an aborted renewal");
    },
  ),
  must(
    {
      id: "L15-after",
      stake: "ownership",
      sentence: "A signal that aborts after the grant has no power over it.",
    },
    async (bench) => {
      const controller = new AbortController();
      const grant = await bench.lease.acquire("s", "a", { signal: controller.signal });
      controller.abort(REASON);
      await bench.advance(Math.floor(bench.ttl / 10));
      await bench.contended("s", "after the signal of a finished acquire was aborted");
      equal((await bench.lease.renew(grant)).token, grant.token, "the holder's token");
    },
  ),
  must(
    {
      id: "L15-wait",
      stake: "power",
      needs: ["waitForChange"],
      sentence: "A wait ends at once when it is aborted, as aborted.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const controller = new AbortController();
      const waiting = bench.waiting(bench.lease, { signal: controller.signal });
      await bench.advance(1);
      controller.abort(REASON);
      await refused(bench.soon(waiting, "an aborted wait"), "aborted", "an aborted wait");
    },
  ),
];
