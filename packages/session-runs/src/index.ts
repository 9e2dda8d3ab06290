export { LeaseInDoubtError, LeaseLostError } from "@leasehold/keeper";
export { DRAIN_JOIN, type DrainOutcome } from "./drain.js";
export {
  DrainError,
  findRunError,
  ReleaseRequestedError,
  RunCancelledError,
  RunError,
  type RunErrorCode,
  SessionBusyError,
  SessionLeasedElsewhereError,
} from "./errors.js";
export type { AcquireEnd, RunEnd, RunLogEvent, RunObserver } from "./observer.js";
export type { Run, RunState, Tether } from "./run.js";
export { SessionRuns } from "./session-runs.js";
export type { ActiveRun, RunOptions, SessionRunsOptions } from "./session-runs-options.js";
export type { RunStats } from "./tally.js";
export { type HttpRefusal, toHttp } from "./to-http.js";
