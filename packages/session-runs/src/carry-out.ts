/** The part of a run that its lease is for, but for the callback itself: its limits, and what its end makes of the run's. */

import { type Clock, findInChain } from "@leasehold/session-lease";
import { throwIfAborted } from "./admission.js";
import { giveBack } from "./hold.js";
import type { RunEnd } from "./observer.js";
import type { Reporter } from "./reporter.js";
import type { LocalRun } from "./run.js";
import { RunLimits, type RunLimitsOptions } from "./run-limits.js";

export type RunCallback<T, R> = (run: R) => Promise<T> | T;

export interface WorkSettings extends Pick<RunLimitsOptions, "maxHold" | "idleTimeout" | "abandonAfter"> {
  readonly clock: Clock;
  readonly reporter: Reporter;
}

/** To be called just before the callback. Throws if the run is not to begin after all. */
export function beginWork(run: LocalRun, settings: WorkSettings): void {
  // An abort that came between the grant and this moment.
  throwIfAborted(run);
  run.noteActivity();
  setLimits(run, settings);
}

/** The callback has really settled: gives the lease back, and settles as the run is to settle. `began`: monotonic ms. */
export async function endWork<T>(
  run: LocalRun,
  settled: PromiseSettledResult<T>,
  began: number,
  { clock, reporter }: WorkSettings,
): Promise<T> {
  const { keeper } = run;
  const heldToTheEnd = keeper?.isValid() ?? true;
  run.settle();
  const releaseError = keeper && (await giveBack(run, keeper, reporter));
  const lost = heldToTheEnd ? undefined : run.loss;
  const end = endOf(run, settled.status, lost !== undefined);
  reporter.observe((observer) => observer.runEnded?.(end, clock.monotonic() - began));
  if (settled.status === "rejected") {
    if (isStaleToken(settled.reason)) reporter.observe((observer) => observer.staleWriteRefused?.());
    throw withSuppressed(settled.reason, releaseError);
  }
  if (lost !== undefined) throw lost;
  // Nothing held the session for it towards its end.
  if (run.isAbandoned && run.timeout !== undefined) throw run.timeout;
  return settled.value;
}

function endOf(run: LocalRun, settled: "fulfilled" | "rejected", lost: boolean): RunEnd {
  if (lost) return "lost";
  if (run.isAbandoned) return "abandoned";
  return settled === "fulfilled" ? "finished" : "failed";
}

function setLimits(run: LocalRun, settings: WorkSettings): void {
  const { reporter, maxHold, idleTimeout } = settings;
  if (maxHold === undefined && idleTimeout === undefined) return;
  const { sessionId, runId, owner, token } = run;
  const of = { sessionId, runId, owner, token };
  run.limits = new RunLimits({
    ...settings,
    onReached: (error) => {
      run.timeout = error;
      run.abort(error);
      reporter.log({ event: "run.timed_out", ...of, limit: error.limit, ms: error.ms });
    },
    onAbandon: () => {
      run.abandon();
      reporter.observe((observer) => observer.abandoned?.());
      reporter.log({ event: "lease.abandoned", ...of });
    },
  });
}

/** By the code, which the session stores of this project use: this package knows no store. */
function isStaleToken(error: unknown): boolean {
  const isStale = (value: object): value is object => (value as { code?: unknown }).code === "stale-token";
  return findInChain(error, isStale) !== undefined;
}

/** The callback's error, with the release's own attached where something can be attached to it. */
function withSuppressed(error: unknown, releaseError: unknown): unknown {
  if (releaseError !== undefined && error instanceof Error && Object.isExtensible(error)) {
    Object.defineProperty(error, "suppressed", { value: releaseError, configurable: true, writable: true });
  }
  return error;
}
