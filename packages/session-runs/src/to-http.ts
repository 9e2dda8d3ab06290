import { findLeaseError, type LeaseErrorCode, lossReason } from "@leasehold/session-lease";
import { findRunError, type RunError, type RunErrorCode } from "./errors.js";

/** What an HTTP server answers. `message` is safe to show: no stack, no path, no other party's identity. */
export type HttpRefusal = Readonly<{
  status: number;
  code: string;
  message: string;
  /** For the `Retry-After` header, in ms. */
  retryAfterMs?: number;
}>;

/** Ms for an answer that knows no better. */
const SOON = 1_000;

const RUN: Readonly<Record<RunErrorCode, Omit<HttpRefusal, "code">>> = {
  session_leased_elsewhere: { status: 409, message: "the session is driven by another process" },
  session_busy: { status: 409, message: "the session is busy with another run" },
  draining: { status: 503, message: "this server is shutting down", retryAfterMs: SOON },
  run_cancelled: { status: 409, message: "the run was cancelled" },
  run_timed_out: { status: 504, message: "the run took longer than it may" },
  release_requested: { status: 409, message: "the run was asked to let go of the session" },
};

const LEASE: Readonly<Record<LeaseErrorCode, HttpRefusal>> = {
  held: {
    status: 409,
    code: "session_leased_elsewhere",
    message: RUN.session_leased_elsewhere.message,
    retryAfterMs: SOON,
  },
  unavailable: { status: 503, code: "lease_unavailable", message: "the lease cannot be had now", retryAfterMs: SOON },
  "unknown-outcome": {
    status: 503,
    code: "lease_unavailable",
    message: "the lease cannot be had now",
    retryAfterMs: SOON,
  },
  closed: { status: 503, code: "lease_closed", message: "this server is shutting down", retryAfterMs: SOON },
  unsupported: { status: 500, code: "lease_unsupported", message: "this server's backend cannot lease sessions" },
  denied: { status: 500, code: "lease_denied", message: "this server may not lease sessions" },
  corrupt: { status: 500, code: "lease_corrupt", message: "the session's lease record is damaged" },
  incompatible: {
    status: 500,
    code: "lease_incompatible",
    message: "the session's lease record is of a newer version",
  },
  invalid: { status: 400, code: "invalid", message: "the request is not acceptable" },
  aborted: { status: 499, code: "aborted", message: "the request was given up" },
};

const LOST: HttpRefusal = { status: 409, code: "lease_lost", message: "the session was lost to its next holder" };
const INTERNAL: HttpRefusal = { status: 500, code: "internal", message: "something went wrong" };

/**
 * The one mapping from whatever `run` rejected with to an HTTP answer: 409 when somebody else has the session, or has it
 * now; 503 while draining or without the authority; 400 for bad arguments; 499 for a caller who went away; otherwise 500.
 */
export function toHttp(error: unknown): HttpRefusal {
  const own = findRunError(error);
  if (own !== undefined) return fromRun(own);
  const lease = findLeaseError(error);
  if (lease === undefined) return INTERNAL;
  if (lossReason(lease) !== undefined) return LOST;
  // Made by our own validation, from the caller's own words.
  if (lease.code === "invalid") return { ...LEASE.invalid, message: lease.message };
  return LEASE[lease.code];
}

function fromRun(error: RunError): HttpRefusal {
  const { code } = error;
  const { retryAfterMs = RUN[code].retryAfterMs } = error as { retryAfterMs?: number };
  return { ...RUN[code], code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
