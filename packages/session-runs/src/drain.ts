import { settlesWithin } from "@leasehold/keeper";
import type { Clock } from "@leasehold/session-lease";
import { DrainError } from "./errors.js";
import type { RunLogEvent } from "./observer.js";
import type { LocalRun } from "./run.js";
import type { SessionLocks } from "./session-locks.js";

/** Ms in which runs that were aborted are joined and their leases given back. */
export const DRAIN_JOIN = 5_000;

export type DrainOutcome = Readonly<{
  /** Runs that ended by themselves, in time. */
  finished: number;
  /** Runs that ended after their signal was aborted. */
  aborted: number;
  /** Runs that had not ended when the drain was over. Their leases were not given back. */
  left: number;
  /** Runs that waited for their session and were told that there is nothing to wait for. */
  turnedAway: number;
  ms: number;
}>;

export interface Draining {
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: (event: RunLogEvent) => void;
}

/**
 * All runs at once, on one budget. Nothing is waited for that has not begun: runs that wait for their session, or are still
 * getting its lease, are aborted at once. A lock that is passed on while the lines empty goes to a run that is aborted too.
 */
export async function drainRuns(locks: SessionLocks<LocalRun>, draining: Draining): Promise<DrainOutcome> {
  const { deadlineMs, clock, log } = draining;
  const startedAt = clock.monotonic();
  const held = [...locks.holders()];
  const waiting = [...locks.waiting(), ...held.filter((run) => run.state === "waiting")];
  const all = held.filter((run) => run.state !== "waiting");
  log({ event: "drain.started", runs: all.length, waiting: waiting.length, deadlineMs });
  const over = Promise.all(all.map((run) => run.over));
  for (const run of [...waiting, ...all]) {
    if (run.state === "waiting" || run.state === "starting") run.abort(new DrainError());
  }
  await settlesWithin(clock, deadlineMs, over);
  for (const run of locks.holders()) if (run.state !== "releasing") run.abort(new DrainError());
  await settlesWithin(clock, DRAIN_JOIN, over);

  const isLeft = (run: LocalRun): boolean => locks.holderOf(run.sessionId) === run;
  const left = all.filter(isLeft).length;
  const ended = all.filter((run) => !isLeft(run));
  const aborted = ended.filter((run) => run.abortReason instanceof DrainError).length;
  const turnedAway = waiting.filter((run) => run.abortReason instanceof DrainError).length;
  const outcome = { finished: ended.length - aborted, aborted, left, turnedAway, ms: clock.monotonic() - startedAt };
  log({ event: "drain.finished", ...outcome });
  return outcome;
}
