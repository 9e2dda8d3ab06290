import { findInChain, findLeaseError, type LeaseHeldError, type ReleaseRequest } from "@leasehold/session-lease";

/**
 * - `session_leased_elsewhere`: another process drives the session.
 * - `session_busy`: another run in this process does.
 * - `draining`: this process takes no new runs and ends those it has.
 * - `run_cancelled`: `cancel` was called for the run.
 * - `release_requested`: somebody asked the holder to let go: another process through the lease, or another run here.
 * - `run_timed_out`: the run has lasted longer, or been idle for longer, than it may.
 */
export type RunErrorCode =
  | "session_leased_elsewhere"
  | "session_busy"
  | "draining"
  | "run_cancelled"
  | "release_requested"
  | "run_timed_out";

const BRAND = Symbol.for("@leasehold/session-runs/RunError");

/** Base of this package's own errors. Recognised by a brand, so that two copies of the package understand each other. */
export class RunError extends Error {
  // Spelled out in each class: the name of the class itself does not survive a minifier.
  override readonly name: string = "RunError";
  readonly code: RunErrorCode;

  constructor(code: RunErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

type Refusal = Readonly<{ retryAfterMs: number; heldForMs: number | undefined }>;

/** Another run in this process drives the session. It says nothing about whose run that is. */
export class SessionBusyError extends RunError {
  override readonly name: string = "SessionBusyError";
  /** Ms after which trying again makes sense. */
  readonly retryAfterMs: number;
  /** Ms for which the other run has lasted. */
  readonly heldForMs: number | undefined;

  constructor({ retryAfterMs, heldForMs }: Refusal) {
    super("session_busy", "the session is busy with another run in this process");
    this.retryAfterMs = retryAfterMs;
    this.heldForMs = heldForMs;
  }
}

/** Another process drives the session. `cause` is the `LeaseHeldError`, so `isLeaseHeld` is true of this one too. */
export class SessionLeasedElsewhereError extends RunError {
  override readonly name: string = "SessionLeasedElsewhereError";
  /** Ms after which trying again makes sense: the holder goes on renewing, so this is not what is left of its ttl. */
  readonly retryAfterMs: number;
  /** Ms for which the other hold has lasted, where the authority tells. */
  readonly heldForMs: number | undefined;

  constructor({ retryAfterMs, heldForMs }: Refusal, cause: unknown) {
    super("session_leased_elsewhere", "the session is driven by another process", { cause });
    this.retryAfterMs = retryAfterMs;
    this.heldForMs = heldForMs;
  }
}

/** Why a run was refused, or its signal aborted, while this process drains. */
export class DrainError extends RunError {
  override readonly name: string = "DrainError";

  constructor() {
    super("draining", "this process is shutting down");
  }
}

/** Why a run's signal was aborted: `cancel` was called. */
export class RunCancelledError extends RunError {
  override readonly name: string = "RunCancelledError";

  constructor() {
    super("run_cancelled", "the run was cancelled");
  }
}

/** Why a run's signal was aborted: somebody asked its holder to let go. */
export class ReleaseRequestedError extends RunError {
  override readonly name: string = "ReleaseRequestedError";
  readonly request: ReleaseRequest;

  constructor(request: ReleaseRequest) {
    super("release_requested", "the holder was asked to release the session");
    this.request = request;
  }
}

/** Which limit a run has reached. */
export type RunLimit = "maxHold" | "idleTimeout";

/** Why a run's signal was aborted: it has reached a limit. */
export class RunTimedOutError extends RunError {
  override readonly name: string = "RunTimedOutError";
  readonly limit: RunLimit;
  /** The limit, in ms. */
  readonly ms: number;

  constructor(limit: RunLimit, ms: number) {
    const has = limit === "maxHold" ? "lasted longer than it may" : "shown no activity for longer than it may";
    super("run_timed_out", `the run has ${has} (${ms} ms)`);
    this.limit = limit;
    this.ms = ms;
  }
}

const isRunError = (value: object): value is RunError => (value as Record<symbol, unknown>)[BRAND] === true;

/** The first error of this package in `error`, its causes, and the errors of an aggregate; undefined when there is none. */
export function findRunError(error: unknown): RunError | undefined {
  return findInChain(error, isRunError);
}

/** Ms, at random from 1,000 up to 5,000, so that those who were refused together do not come back together. */
export function retryHint(random: () => number): number {
  return Math.floor(1_000 + 4_000 * random());
}

/** A contended acquire as its caller is to see it; any other error as it is. */
export function asRefusal(error: unknown, random: () => number): unknown {
  const found = findLeaseError(error);
  if (found?.code !== "held") return error;
  const { heldForMs } = found as LeaseHeldError;
  return new SessionLeasedElsewhereError({ retryAfterMs: retryHint(random), heldForMs }, error);
}
