/**
 * A process that contends for sessions: opens the subject's store by the author's module, and acquires when, and as far as, it
 * is told to.
 */

import type { Clock, Lease, SessionLease } from "@leasehold/session-lease";
import { interceptFileCalls } from "../processes/file-calls.js";
import { perform } from "../processes/perform.js";

export type ContenderCalls = {
  /** Acquires at this instant of CLOCK_MONOTONIC, or at once if it has passed. Returns the token. */
  acquireAt(at: number, sessionId: string, owner: string): Promise<bigint>;
  /** Acquires, and stops itself before the nth call of `node:fs` on the way, from 0. Returns the number of those calls. */
  acquireStopping(nth: number, sessionId: string, owner: string): Promise<number>;
  /** Acquires, lets go, and acquires again as another owner: the store moves on by three writes. Returns the last token. */
  overtake(sessionId: string, owner: string): Promise<bigint>;
  renew(): Promise<bigint>;
  release(): Promise<string>;
  closeLease(): Promise<void>;
};

type Argument = Readonly<{ module: string; argument: unknown; files: boolean }>;
type Author = Readonly<{ open: (argument: unknown, clock: Clock) => SessionLease | Promise<SessionLease> }>;

await perform(async ({ argument, clock }) => {
  const { module, argument: where, files } = argument as Argument;
  /** Calls of `node:fs` in the acquire under way, and before which of them to stop. */
  let calls = 0;
  let stopBefore = Number.POSITIVE_INFINITY;
  const onCall = (): void => {
    calls += 1;
    if (calls > stopBefore) {
      stopBefore = Number.POSITIVE_INFINITY;
      process.kill(process.pid, "SIGSTOP");
    }
  };
  // Before the author's module is loaded, and whatever that imports.
  if (files) await interceptFileCalls(onCall);
  const { open } = (await import(module)) as Author;
  const lease = await open(where, clock);
  let held: Lease | undefined;
  const hold = (): Lease => {
    if (held === undefined) throw new Error("nothing was granted to this process");
    return held;
  };
  const contender: ContenderCalls = {
    acquireAt: async (at, sessionId, owner) => {
      // To the microsecond: a timer would be late by more than what there is to hit.
      while (clock.monotonic() < at);
      held = await lease.acquire(sessionId, owner);
      return held.token;
    },
    acquireStopping: async (nth, sessionId, owner) => {
      calls = 0;
      stopBefore = nth;
      try {
        held = await lease.acquire(sessionId, owner);
        return calls;
      } finally {
        stopBefore = Number.POSITIVE_INFINITY;
      }
    },
    overtake: async (sessionId, owner) => {
      await lease.release(await lease.acquire(sessionId, owner));
      held = await lease.acquire(sessionId, `${owner} again`);
      return held.token;
    },
    renew: async () => {
      held = await lease.renew(hold());
      return held.token;
    },
    release: () => lease.release(hold()),
    closeLease: () => lease.close(),
  };
  return contender;
});
