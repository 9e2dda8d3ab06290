import type { FullSessionLease, Lease } from "@leasehold/session-lease";
import { type Check, must } from "../check.js";
import { ensure, equal, failure, refused } from "../expectation.js";

/**
 * Resources that a lease may have opened, by Node's names; Node tells of those that keep the process alive. Requests to the
 * file system are left out, since they end by themselves; timers too, since the runner of the exam sets its own at any
 * moment. Those of the lease are counted by the subject's `timers`.
 */
const LEASE_RESOURCES = new Set(["FSEventWrap", "StatWatcher", "TCPSocketWrap", "TLSWrap", "PipeWrap", "ProcessWrap"]);

/** Turns of the event loop until what was closed is off Node's list. */
const TURNS = 3;

async function resources(): Promise<string[]> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return process
    .getActiveResourcesInfo()
    .filter((name) => LEASE_RESOURCES.has(name))
    .sort();
}

const CALLS: readonly (readonly [string, (lease: FullSessionLease, held: Lease) => Promise<unknown>])[] = [
  ["acquire", (lease) => lease.acquire("t", "a")],
  ["renew", (lease, held) => lease.renew(held)],
  ["release", (lease, held) => lease.release(held)],
];

/** Case 19: a closed lease keeps nothing open, and answers nothing. */
export const CLOSE_CHECKS: readonly Check[] = [
  must(
    { id: "L19-closed", stake: "conduct", sentence: "Every call after close is refused as closed." },
    async ({ lease }) => {
      const held = await lease.acquire("s", "a");
      await lease.close();
      for (const [name, call] of CALLS) await refused(call(lease, held), "closed", `${name} after close`);
    },
  ),
  must(
    {
      id: "L19-idempotent",
      stake: "conduct",
      sentence: "Close may be called twice, also at once, and `await using` closes.",
    },
    async ({ lease }) => {
      await Promise.all([lease.close(), lease.close()]);
      await lease[Symbol.asyncDispose]();
      await refused(lease.acquire("s", "a"), "closed", "acquire after close");
    },
  ),
  must(
    {
      id: "L19-dispose",
      stake: "conduct",
      sentence: "Disposing of a lease closes it.",
    },
    async ({ lease }) => {
      await lease[Symbol.asyncDispose]();
      await refused(lease.acquire("s", "a"), "closed", "acquire after disposal");
    },
  ),
  must(
    {
      id: "L19-wait",
      stake: "power",
      needs: ["waitForChange"],
      sentence: "Close ends a wait that is pending, as closed.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const waiting = bench.waiting();
      await bench.advance(1);
      await bench.lease.close();
      await refused(bench.soon(waiting, "a wait while the lease was closed"), "closed", "a pending wait");
    },
  ),
  must(
    {
      id: "L19-keeps-holds",
      stake: "ownership",
      requires: ["reopen"],
      sentence: "Close gives no hold away: another process still finds the session held.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.lease.close();
      const second = await bench.reopen();
      await failure(second.acquire("s", "b"), "an acquire by another process: expected the session to be held");
      equal((await second.acquire("s", "a")).owner, "a", "the holder's acquire by another process");
    },
  ),
  must(
    {
      id: "L19-timers",
      stake: "conduct",
      requires: ["timers"],
      sentence: "Close leaves no timer, also when waits were pending and dead records kept.",
    },
    async (bench) => {
      const { lease, opened } = bench;
      const before = opened.timers?.() ?? 0;
      await lease.release(await lease.acquire("s", "a"));
      await lease.acquire("s", "a");
      if (bench.declares("waitForChange")) bench.waiting();
      await bench.advance(1);
      await lease.close();
      await bench.advance(0);
      equal((opened.timers?.() ?? 0) - before, 0, "the number of timers left");
    },
  ),
  must(
    {
      id: "L19-handles",
      stake: "conduct",
      sentence: "Close leaves no socket, no file and no watcher open.",
    },
    async (bench) => {
      const before = await resources();
      const other = await bench.openAnother();
      await other.lease.acquire("s", "a");
      if (bench.declares("waitForChange")) bench.waiting(other.lease as FullSessionLease);
      await other.advance(1);
      await other.lease.close();
      await other.advance(0);
      const left = await resources();
      ensure(left.length <= before.length, `open before: ${before.join(", ")}; after: ${left.join(", ")}`);
    },
  ),
  must(
    {
      id: "L19-not-closed",
      stake: "conduct",
      sentence: "A lease that nobody closes keeps no program alive once its calls are answered.",
    },
    async (bench) => {
      const before = await resources();
      const other = await bench.openAnother();
      await other.lease.renew(await other.lease.acquire("s", "a"));
      await bench.until(
        async () => (await resources()).length <= before.length,
        async () => `alive before: ${before.join(", ")}; and now: ${(await resources()).join(", ")}`,
      );
    },
  ),
];
