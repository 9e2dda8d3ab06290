/**
 * Contention, loss, failure and "cannot lease at all" are different things, told apart by `code`, never by a message.
 *
 * Errors are recognised by a brand, not by `instanceof`: two copies of this package in one program understand each
 * other, and a code is found through any chain of `cause` or `AggregateError`.
 */

import { findInChain } from "./error-chain.js";
import type { LossReason } from "./lease.js";

/**
 * - `held`: someone else owns the session; on renew and transfer: your hold is gone, and `reason` says how.
 * - `unsupported`: from acquire: no leases here at all; from an optional power: not that power.
 * - `unavailable`: the authority could not be asked; nothing is known to have happened.
 * - `unknown-outcome`: the request may or may not have been applied.
 * - `denied`: the authority refused this caller.
 * - `invalid`: the arguments are not acceptable; nothing was sent.
 * - `corrupt`: the stored record or the reply makes no sense; never free, never held.
 * - `incompatible`: the record was written by a newer major version.
 * - `closed`: this lease object was closed.
 * - `aborted`: the caller's signal ended the call.
 */
export type LeaseErrorCode =
  | "held"
  | "unsupported"
  | "unavailable"
  | "unknown-outcome"
  | "denied"
  | "invalid"
  | "corrupt"
  | "incompatible"
  | "closed"
  | "aborted";

export interface LeaseErrorOptions {
  readonly cause?: unknown;
  /** Operation of the port, for messages: "acquire". */
  readonly operation?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly retryable?: boolean | undefined;
}

const BRAND = Symbol.for("@leasehold/session-lease/LeaseError");

/** Base of every error of the port. */
export class LeaseError extends Error {
  // Spelled out in each class: the name of the class itself does not survive a minifier.
  override readonly name: string = "LeaseError";
  readonly code: LeaseErrorCode;
  /** The same call may succeed later without anything being changed. */
  readonly retryable: boolean;
  readonly operation: string | undefined;
  readonly sessionId: string | undefined;

  constructor(code: LeaseErrorCode, message: string, options: LeaseErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? (code === "held" || code === "unavailable" || code === "unknown-outcome");
    this.operation = options.operation;
    this.sessionId = options.sessionId;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

export interface LeaseHeldOptions extends LeaseErrorOptions {
  readonly reason?: LossReason | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly heldForMs?: number | undefined;
}

/** Someone else owns the session, or the caller's own hold is gone. */
export class LeaseHeldError extends LeaseError {
  override readonly name: string = "LeaseHeldError";
  /** On renew and transfer: how the caller's hold was lost. Absent on acquire. */
  readonly reason: LossReason | undefined;
  /** On acquire: ms until the present hold runs out if it is not renewed; never negative. */
  readonly retryAfterMs: number | undefined;
  /** On acquire: ms for which the present hold has lasted, where the authority tells. */
  readonly heldForMs: number | undefined;

  constructor(message: string, options: LeaseHeldOptions = {}) {
    super("held", message, options);
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
    this.heldForMs = options.heldForMs;
  }
}

export class LeaseUnsupportedError extends LeaseError {
  override readonly name: string = "LeaseUnsupportedError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("unsupported", message, options);
  }
}

export class LeaseUnavailableError extends LeaseError {
  override readonly name: string = "LeaseUnavailableError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("unavailable", message, options);
  }
}

export class LeaseUnknownOutcomeError extends LeaseError {
  override readonly name: string = "LeaseUnknownOutcomeError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("unknown-outcome", message, options);
  }
}

export class LeaseDeniedError extends LeaseError {
  override readonly name: string = "LeaseDeniedError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("denied", message, options);
  }
}

export class LeaseInvalidError extends LeaseError {
  override readonly name: string = "LeaseInvalidError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("invalid", message, options);
  }
}

export class LeaseCorruptError extends LeaseError {
  override readonly name: string = "LeaseCorruptError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("corrupt", message, options);
  }
}

export class LeaseIncompatibleError extends LeaseError {
  override readonly name: string = "LeaseIncompatibleError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("incompatible", message, options);
  }
}

export class LeaseClosedError extends LeaseError {
  override readonly name: string = "LeaseClosedError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("closed", message, options);
  }
}

/** `cause` is the signal's own reason. */
export class LeaseAbortedError extends LeaseError {
  override readonly name: string = "LeaseAbortedError";

  constructor(message: string, options?: LeaseErrorOptions) {
    super("aborted", message, options);
  }
}

const isLeaseError = (value: object): value is LeaseError => (value as Record<symbol, unknown>)[BRAND] === true;

/** The first error of the port in `error`, its causes, and the errors of an aggregate; undefined when there is none. */
export function findLeaseError(error: unknown): LeaseError | undefined {
  return findInChain(error, isLeaseError);
}

/** The code of the first error of the port found in `error`, as `findLeaseError` looks for it. */
export function leaseErrorCode(error: unknown): LeaseErrorCode | undefined {
  return findLeaseError(error)?.code;
}

export const isLeaseHeld = (error: unknown): boolean => leaseErrorCode(error) === "held";
export const isLeaseUnsupported = (error: unknown): boolean => leaseErrorCode(error) === "unsupported";
export const isLeaseUnavailable = (error: unknown): boolean => leaseErrorCode(error) === "unavailable";
export const isLeaseOutcomeUnknown = (error: unknown): boolean => leaseErrorCode(error) === "unknown-outcome";
export const isLeaseDenied = (error: unknown): boolean => leaseErrorCode(error) === "denied";
export const isLeaseInvalid = (error: unknown): boolean => leaseErrorCode(error) === "invalid";
export const isLeaseCorrupt = (error: unknown): boolean => leaseErrorCode(error) === "corrupt";
export const isLeaseIncompatible = (error: unknown): boolean => leaseErrorCode(error) === "incompatible";
export const isLeaseClosed = (error: unknown): boolean => leaseErrorCode(error) === "closed";
export const isLeaseAborted = (error: unknown): boolean => leaseErrorCode(error) === "aborted";

/** Why the caller's hold was lost, if `error` says so. */
export function lossReason(error: unknown): LossReason | undefined {
  const found = findLeaseError(error);
  return found?.code === "held" ? (found as LeaseHeldError).reason : undefined;
}
