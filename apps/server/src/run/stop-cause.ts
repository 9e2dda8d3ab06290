import { ReleaseRequestedError, RunCancelledError } from "@leasehold/session-runs";
import { isLoss } from "./run-writer.js";

/** The run has taken longer than it may. */
export class RunTimedOutError extends Error {
  constructor() {
    super("the run has taken longer than it may");
    this.name = "RunTimedOutError";
  }
}

/**
 * Why an agent is stopped: `cancelled` by a client, `asked` by another process that wants the session, out of time, at
 * the end of a drain, or because the hold is gone.
 */
export type StopCause = "cancelled" | "asked" | "timeout" | "drain" | "lost";

/** The cause behind the reason of an aborted signal. Whoever runs this server aborts for no other reason than to drain. */
export function stopCauseOf(reason: unknown): StopCause {
  if (isLoss(reason)) return "lost";
  if (reason instanceof RunCancelledError) return "cancelled";
  if (reason instanceof ReleaseRequestedError) return "asked";
  if (reason instanceof RunTimedOutError) return "timeout";
  return "drain";
}
