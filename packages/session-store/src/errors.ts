/**
 * The errors of a session store. Each has a stable `code`; recognise them with the functions at the end, which walk
 * `cause` and aggregates, and hold across two copies of this package (a brand in the global symbol registry, not
 * `instanceof`).
 */

import { findInChain } from "@leasehold/session-lease";

const BRAND = Symbol.for("@leasehold/session-store/StoreError");

/**
 * - `stale-token`: a higher token has written; whoever holds this one has lost the session.
 * - `session-exists`, `unknown-session`: what the call asks for is there, or is not.
 * - `domain-mismatch`: the store is used with another lock.
 * - `invalid`: the arguments are not acceptable; nothing was written.
 * - `unavailable`: the storage failed; a write may or may not have happened.
 * - `denied`: the storage refuses this process.
 * - `corrupt`, `incompatible`: what is stored makes no sense, or is of a newer format.
 * - `closed`: this store object was closed.
 * - `aborted`: the caller's signal ended the call.
 */
export type StoreErrorCode =
  | "stale-token"
  | "session-exists"
  | "unknown-session"
  | "domain-mismatch"
  | "invalid"
  | "unavailable"
  | "denied"
  | "corrupt"
  | "incompatible"
  | "closed"
  | "aborted";

/** Base of all errors thrown here. */
export class StoreError extends Error {
  // Spelled out in each class: the name of the class itself does not survive a minifier.
  override readonly name: string = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** A higher token has written: whoever holds this one has lost the session and must stop. */
export class StaleTokenError extends StoreError {
  override readonly name: string = "StaleTokenError";
  readonly sessionId: string;
  readonly token: bigint;
  /** The highest token known when the call was refused. */
  readonly highest: bigint;

  constructor(sessionId: string, token: bigint, highest: bigint) {
    super("stale-token", `token ${token} of session ${show(sessionId)} is stale: ${highest} has written since`);
    this.sessionId = sessionId;
    this.token = token;
    this.highest = highest;
  }
}

export class SessionExistsError extends StoreError {
  override readonly name: string = "SessionExistsError";
  readonly sessionId: string;

  constructor(sessionId: string) {
    super("session-exists", `session ${show(sessionId)} exists already`);
    this.sessionId = sessionId;
  }
}

export class UnknownSessionError extends StoreError {
  override readonly name: string = "UnknownSessionError";
  readonly sessionId: string;

  constructor(sessionId: string) {
    super("unknown-session", `there is no session ${show(sessionId)}`);
    this.sessionId = sessionId;
  }
}

/** The store belongs to another lease domain: two servers on one store must share a lock. */
export class LeaseDomainMismatchError extends StoreError {
  override readonly name: string = "LeaseDomainMismatchError";
  readonly stored: string;
  readonly offered: string;

  constructor(stored: string, offered: string) {
    super("domain-mismatch", `the store belongs to lease domain ${show(stored)}, this lease is of ${show(offered)}`);
    this.stored = stored;
    this.offered = offered;
  }
}

/** An argument was refused; nothing was written. */
export class StoreInvalidError extends StoreError {
  override readonly name: string = "StoreInvalidError";

  constructor(message: string, options?: ErrorOptions) {
    super("invalid", message, options);
  }
}

/** The storage failed: full, gone, in error. A write may or may not have happened. `path` is the host's. */
export class StoreUnavailableError extends StoreError {
  override readonly name: string = "StoreUnavailableError";
  readonly path: string;

  constructor(message: string, path: string, options?: ErrorOptions) {
    super("unavailable", message, options);
    this.path = path;
  }
}

/** The storage refuses this process: permissions, or a read-only file system. `path` is the host's. */
export class StoreDeniedError extends StoreError {
  override readonly name: string = "StoreDeniedError";
  readonly path: string;

  constructor(message: string, path: string, options?: ErrorOptions) {
    super("denied", message, options);
    this.path = path;
  }
}

/** What is stored contradicts itself. `path` names the file to look at. */
export class StoreCorruptError extends StoreError {
  override readonly name: string = "StoreCorruptError";
  readonly path: string;

  constructor(message: string, path: string) {
    super("corrupt", `${message}: ${path}`);
    this.path = path;
  }
}

/** What is stored was written by a newer format of this package. */
export class StoreIncompatibleError extends StoreError {
  override readonly name: string = "StoreIncompatibleError";
  readonly version: number;

  constructor(version: number) {
    super("incompatible", `the store is of format ${version}, newer than this program understands: upgrade it`);
    this.version = version;
  }
}

export class StoreClosedError extends StoreError {
  override readonly name: string = "StoreClosedError";

  constructor() {
    super("closed", "the session store is closed");
  }
}

export class StoreAbortedError extends StoreError {
  override readonly name: string = "StoreAbortedError";

  constructor(reason: unknown) {
    super("aborted", "the call was aborted", { cause: reason });
  }
}

const isStoreError = (value: object): value is StoreError => (value as Record<symbol, unknown>)[BRAND] === true;

/** The first error of a store in `error`, its causes, and the errors of an aggregate; undefined when there is none. */
export function findStoreError(error: unknown): StoreError | undefined {
  return findInChain(error, isStoreError);
}

/** The code of the first error of a store found in `error`, as `findStoreError` looks for it. */
export function storeErrorCode(error: unknown): StoreErrorCode | undefined {
  return findStoreError(error)?.code;
}

export const isStaleToken = (error: unknown): boolean => storeErrorCode(error) === "stale-token";
export const isSessionExists = (error: unknown): boolean => storeErrorCode(error) === "session-exists";
export const isUnknownSession = (error: unknown): boolean => storeErrorCode(error) === "unknown-session";
export const isLeaseDomainMismatch = (error: unknown): boolean => storeErrorCode(error) === "domain-mismatch";

/** Ids are the caller's text: quoted, so that line breaks stay harmless in a log, and cut. */
function show(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}
