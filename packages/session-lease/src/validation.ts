/**
 * The one place where arguments are judged, before any adapter sees them. A driver is promised exact, valid arguments.
 */

import type { ReleaseNote } from "./driver.js";
import { LeaseInvalidError } from "./errors.js";
import type { ForceReleaseOptions, LeaseRef, Metadata, RequestReleaseOptions } from "./lease.js";
import { MAX_TOKEN } from "./record.js";

export const MAX_SESSION_ID_BYTES = 1024;
export const MAX_OWNER_BYTES = 256;
/** Ms. */
export const MIN_TTL = 10;
/** Ms: 24 h. */
export const MAX_TTL = 86_400_000;
export const MAX_METADATA_ENTRIES = 64;
/** Bytes of UTF-8, keys and values together. */
export const MAX_METADATA_BYTES = 8192;
export const MAX_LIST_LIMIT = 1000;
/** Bytes of UTF-8 of `by` and `reason`. */
export const MAX_NOTE_BYTES = 1024;

/**
 * Why a value is not text that ids, owners and notes can be: a non-empty string of well-formed Unicode without NUL, at most
 * `maxBytes` of UTF-8. It goes on from the name of the value ("must not be empty"); undefined when nothing is wrong.
 */
export function textFault(value: unknown, maxBytes: number): string | undefined {
  if (typeof value !== "string") return `must be a string, not ${describe(value)}`;
  if (value.length === 0) return "must not be empty";
  // No UTF-16 unit takes more than three bytes, so most ids need no second look.
  if (value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes) {
    return `must be at most ${maxBytes} bytes of UTF-8`;
  }
  if (!value.isWellFormed()) return "must be well-formed Unicode (it has a lone surrogate)";
  return value.includes("\0") ? "must not contain NUL" : undefined;
}

function checkText(what: string, value: unknown, maxBytes: number): asserts value is string {
  const fault = textFault(value, maxBytes);
  if (fault !== undefined) throw new LeaseInvalidError(`${what} ${fault}`);
}

export function checkSessionId(value: unknown): asserts value is string {
  checkText("session id", value, MAX_SESSION_ID_BYTES);
}

export function checkOwner(value: unknown): asserts value is string {
  checkText("owner", value, MAX_OWNER_BYTES);
}

/** Who asks, or why: shown to the holder and the operator. */
export function checkNote(what: "by" | "reason", value: unknown): void {
  if (value !== undefined) checkText(what, value, MAX_NOTE_BYTES);
}

export function checkTtl(value: unknown): asserts value is number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < MIN_TTL || value > MAX_TTL) {
    throw new LeaseInvalidError(
      `ttl must be a whole number of milliseconds from ${MIN_TTL} to ${MAX_TTL}, not ${describe(value)}`,
    );
  }
}

export function checkToken(what: string, value: unknown, lowest = 1n): asserts value is bigint {
  if (typeof value !== "bigint" || value < lowest || value > MAX_TOKEN) {
    throw new LeaseInvalidError(`${what} must be a bigint from ${lowest} to ${MAX_TOKEN}, not ${describe(value)}`);
  }
}

export function checkMetadata(value: unknown): asserts value is Metadata {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new LeaseInvalidError(`metadata must be a map of strings, not ${describe(value)}`);
  }
  const entries = Object.entries(value);
  if (entries.length > MAX_METADATA_ENTRIES) {
    throw new LeaseInvalidError(`metadata must have at most ${MAX_METADATA_ENTRIES} entries, not ${entries.length}`);
  }
  let bytes = 0;
  for (const [key, text] of entries) {
    if (typeof text !== "string") throw new LeaseInvalidError(`metadata value of "${key}" must be a string`);
    if (!key.isWellFormed() || !text.isWellFormed() || key.includes("\0") || text.includes("\0")) {
      throw new LeaseInvalidError("metadata must be well-formed Unicode without NUL");
    }
    bytes += Buffer.byteLength(key) + Buffer.byteLength(text);
  }
  if (bytes > MAX_METADATA_BYTES) {
    throw new LeaseInvalidError(`metadata must be at most ${MAX_METADATA_BYTES} bytes of UTF-8, not ${bytes}`);
  }
}

export function checkLimit(value: unknown): asserts value is number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > MAX_LIST_LIMIT) {
    throw new LeaseInvalidError(`limit must be a whole number from 1 to ${MAX_LIST_LIMIT}, not ${describe(value)}`);
  }
}

export function checkRef(lease: LeaseRef): LeaseRef {
  if (typeof lease !== "object" || lease === null)
    throw new LeaseInvalidError("a lease is needed to renew or release it");
  const { sessionId, owner, token } = lease;
  checkSessionId(sessionId);
  checkOwner(owner);
  if (token === undefined) return { sessionId, owner };
  checkToken("token", token);
  return { sessionId, owner, token };
}

export function checkReleaseNote(sessionId: string, options: ForceReleaseOptions | RequestReleaseOptions): ReleaseNote {
  const { expectedToken, by, reason } = options;
  checkSessionId(sessionId);
  if (expectedToken !== undefined) checkToken("expectedToken", expectedToken);
  checkNote("by", by);
  checkNote("reason", reason);
  return {
    sessionId,
    ...(expectedToken !== undefined && { expectedToken }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
