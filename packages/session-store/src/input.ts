/** What callers hand in, checked once and before anything is touched. Every refusal is a `StoreInvalidError`. */

import { MAX_SESSION_ID_BYTES, MAX_TOKEN, textFault } from "@leasehold/session-lease";
import { StoreInvalidError } from "./errors.js";
import type { JsonValue, SessionEvent } from "./store.js";

export function checkId(id: string): void {
  checkText("session id", id, MAX_SESSION_ID_BYTES);
}

/** @param token must be given: a write without a token is how unleased writers slip past a fence. */
export function checkToken(token: bigint): void {
  if (typeof token !== "bigint") throw new StoreInvalidError(`a token is a bigint, got ${typeof token}`);
  if (token < 0n || token > MAX_TOKEN) throw new StoreInvalidError(`a token is between 0 and 2^63-1, got ${token}`);
}

export function checkDomain(domain: string): void {
  checkText("lease domain", domain, 256);
}

/** An event whose payload belongs to nobody else and is frozen. */
export interface AcceptedEvent {
  readonly runId: string;
  readonly type: string;
  readonly data?: JsonValue;
}

/** The event as JSON will carry it, detached from the caller's object, which may change while the write waits. */
export function acceptEvent(event: SessionEvent): AcceptedEvent {
  if (typeof event !== "object" || event === null) throw new StoreInvalidError("an event is an object");
  checkText("run id", event.runId, 256);
  checkText("event type", event.type, 64);
  const { runId, type } = event;
  return event.data === undefined ? { runId, type } : { runId, type, data: detach(event.data) };
}

/** @returns `limit`, or 100 without one. */
export function acceptLimit(limit: number | undefined): number {
  if (limit === undefined) return 100;
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new StoreInvalidError(`a limit is a whole number from 1 to 1000, got ${limit}`);
  }
  return limit;
}

/** @returns `after`, or 0 without one. */
export function acceptAfter(after: number | undefined): number {
  if (after === undefined) return 0;
  if (!Number.isSafeInteger(after) || after < 0) {
    throw new StoreInvalidError(`"after" is a seq, a whole number from 0, got ${after}`);
  }
  return after;
}

/** Largest event that any store takes: its encoded form, in bytes. */
export const MAX_EVENT_BYTES: number = 16 * 1024 * 1024;

/** @returns the limit for one encoded event in bytes: 1 MiB, or what was asked for. */
export function acceptEventLimit(bytes: number | undefined): number {
  if (bytes === undefined) return 1024 * 1024;
  if (!Number.isInteger(bytes) || bytes < 1024 || bytes > MAX_EVENT_BYTES) {
    throw new StoreInvalidError(`maxEventBytes is a whole number from 1024 to ${MAX_EVENT_BYTES}, got ${bytes}`);
  }
  return bytes;
}

export function checkEventSize(bytes: number, limit: number): void {
  if (bytes > limit) throw new StoreInvalidError(`the event takes ${bytes} bytes, more than the ${limit} allowed`);
}

function checkText(what: string, text: string, maxBytes: number): void {
  const fault = textFault(text, maxBytes);
  if (fault !== undefined) throw new StoreInvalidError(`a ${what} ${fault}`);
}

/** What `JSON.stringify` would silently change or drop is refused instead. */
function detach(data: JsonValue): JsonValue {
  let text: string | undefined;
  try {
    text = JSON.stringify(data, (key: string, value: unknown) => {
      const kind = typeof value;
      if (kind === "bigint" || kind === "function" || kind === "symbol") {
        throw new StoreInvalidError(`event data cannot hold a ${kind} (at ${JSON.stringify(key)})`);
      }
      if (kind === "number" && !Number.isFinite(value)) {
        throw new StoreInvalidError(`event data cannot hold ${value} (at ${JSON.stringify(key)})`);
      }
      return value;
    });
  } catch (error) {
    if (error instanceof StoreInvalidError) throw error;
    throw new StoreInvalidError("event data cannot be written as JSON", { cause: error });
  }
  if (text === undefined) throw new StoreInvalidError("event data cannot be written as JSON");
  return JSON.parse(text, (_, value: unknown) => Object.freeze(value)) as JsonValue;
}
