import { REQUEST_REASON, ReleaseRequestedError, RunCancelledError, RunTimedOutError } from "@leasehold/session-runs";
import { isLoss } from "./run-writer.js";

/**
 * Why an agent is stopped: `cancelled` by a client, here or at another server; `asked` by somebody else who wants the session;
 * out of time, silent for too long, at the end of a drain, or because the hold is gone.
 */
export type StopCause = "cancelled" | "asked" | "timeout" | "idle" | "drain" | "lost";

/** The cause behind the reason of an aborted signal. Whoever runs this server aborts for no other reason than to drain. */
export function stopCauseOf(reason: unknown): StopCause {
  if (isLoss(reason)) return "lost";
  if (reason instanceof RunCancelledError) return "cancelled";
  if (reason instanceof ReleaseRequestedError)
    return reason.request.reason === REQUEST_REASON.cancel ? "cancelled" : "asked";
  if (reason instanceof RunTimedOutError) return reason.limit === "idleTimeout" ? "idle" : "timeout";
  return "drain";
}
