import { settlesWithin } from "@leasehold/keeper";
import type { Clock } from "@leasehold/session-lease";
import { DrainError } from "./errors.js";
import type { RunLogEvent } from "./observer.js";
import type { LocalRun } from "./run.js";

/** Ms in which runs that were aborted are joined and their leases given back. */
export const DRAIN_JOIN = 5_000;

export type DrainOutcome = Readonly<{
  /** Runs that ended by themselves, in time. */
  finished: number;
  /** Runs that ended after their signal was aborted. */
  aborted: number;
  /** Runs that had not ended when the drain was over. Their leases were not given back. */
  left: number;
  ms: number;
}>;

export interface Draining {
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly abort: (run: LocalRun) => void;
  readonly log: (event: RunLogEvent) => void;
}

/** All runs at once, on one budget. A run that is still getting its lease is aborted at once: it is a new one. */
export async function drainRuns(runs: ReadonlyMap<string, LocalRun>, draining: Draining): Promise<DrainOutcome> {
  const { deadlineMs, clock, abort, log } = draining;
  const startedAt = clock.monotonic();
  const all = [...runs.values()];
  log({ event: "drain.started", runs: all.length, deadlineMs });
  const over = Promise.all(all.map((run) => run.over));
  for (const run of all) if (run.state === "starting") abort(run);
  await settlesWithin(clock, deadlineMs, over);
  for (const run of runs.values()) if (run.state !== "releasing") abort(run);
  await settlesWithin(clock, DRAIN_JOIN, over);

  const left = all.filter((run) => runs.get(run.sessionId) === run).length;
  const ended = all.filter((run) => runs.get(run.sessionId) !== run);
  const aborted = ended.filter((run) => run.signal.reason instanceof DrainError).length;
  const outcome = { finished: ended.length - aborted, aborted, left, ms: clock.monotonic() - startedAt };
  log({ event: "drain.finished", ...outcome });
  return outcome;
}
