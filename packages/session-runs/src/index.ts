export { LeaseInDoubtError, LeaseLostError } from "@leasehold/keeper";
export { REQUEST_REASON } from "./ask-holder.js";
export { DRAIN_JOIN, type DrainOutcome } from "./drain.js";
export {
  DrainError,
  findRunError,
  ReleaseRequestedError,
  RunCancelledError,
  RunError,
  type RunErrorCode,
  type RunLimit,
  RunTimedOutError,
  SessionBusyError,
  SessionLeasedElsewhereError,
} from "./errors.js";
export type { AcquireEnd, RunEnd, RunLogEvent, RunObserver } from "./observer.js";
export type { Run, RunState, Tether } from "./run.js";
export { type CancelOutcome, SessionRuns } from "./session-runs.js";
export {
  type ActiveRun,
  type CancelOptions,
  DEFAULT_ABANDON_AFTER,
  DEFAULT_MAX_WAITING,
  DEFAULT_WAIT,
  type LeaseAtRisk,
  type OnBusy,
  type RunLimitOptions,
  type RunOptions,
  type SessionRunsOptions,
} from "./session-runs-options.js";
export type { StartedRun } from "./started-run.js";
export type { RunStats } from "./tally.js";
export { type HttpRefusal, toHttp } from "./to-http.js";
export { type Metric, RUN_LOG_EVENTS, RUN_METRICS } from "./vocabulary.js";
