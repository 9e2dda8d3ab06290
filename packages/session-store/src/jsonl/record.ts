/**
 * One line of a session's log: how it is written, and what counts as one.
 *
 *     {"kind":"created","v":1,"id":"chat-7","token":"1767000000001","time":1767000000123,"by":"k3f9.1"}
 *     {"kind":"event","seq":1,"token":"1767000000001","time":1767000000150,"run":"r1","type":"started","by":"k3f9.2"}
 *
 * Tokens are decimal text, so that no JSON reader rounds them. `by` is unique to the write: it lets a writer find its
 * own line again among others that say the same. Lines that name the session carry the format's version; events are
 * too many for that.
 */

import { MAX_TOKEN } from "@leasehold/session-lease";
import { StoreIncompatibleError } from "../errors.js";
import { MAX_EVENT_BYTES } from "../input.js";
import type { JsonValue, StoredEvent } from "../store.js";

/** A longer line is unreadable. A constant of the format: every reader must ignore the same lines. */
export const MAX_LINE_BYTES: number = MAX_EVENT_BYTES;

const FORMAT = 1;

const MARK_KINDS = ["created", "fence", "deleted", "tombstone"] as const;

/**
 * A line about the session itself: `created` begins it, `fence` raises the token and nothing else, `deleted` ends it
 * and seals the file, `tombstone` is the first line of the file that takes the place of a sealed one.
 */
export interface MarkRecord {
  readonly kind: (typeof MARK_KINDS)[number];
  readonly id: string;
  readonly token: bigint;
  readonly time: number;
  readonly by: string;
}

export interface EventRecord {
  readonly kind: "event";
  readonly event: StoredEvent;
  readonly by: string;
}

export type LogRecord = MarkRecord | EventRecord;

/** The line, newline included. */
export function encodeRecord(record: LogRecord): Uint8Array {
  return Buffer.from(`${JSON.stringify(record.kind === "event" ? eventFields(record) : markFields(record))}\n`);
}

/** The record in a line without its newline; `undefined` when it is none. @throws StoreIncompatibleError */
export function decodeRecord(line: Uint8Array): LogRecord | undefined {
  const fields = parseObject(line);
  if (fields === undefined) return undefined;
  const { kind, v } = fields;
  if (typeof v === "number" && Number.isInteger(v) && v > FORMAT) throw new StoreIncompatibleError(v);
  const token = parseToken(fields.token);
  const { id, time, by } = fields;
  if (token === undefined || typeof time !== "number" || typeof by !== "string") return undefined;
  if (kind === "event") return decodeEvent(fields, token, time, by);
  const mark = MARK_KINDS.find((known) => known === kind);
  if (mark === undefined || v !== FORMAT || typeof id !== "string") return undefined;
  return { kind: mark, id, token, time, by };
}

interface Fields {
  readonly kind?: unknown;
  readonly v?: unknown;
  readonly id?: unknown;
  readonly token?: unknown;
  readonly time?: unknown;
  readonly by?: unknown;
  readonly [name: string]: unknown;
}

function decodeEvent(fields: Fields, token: bigint, time: number, by: string): EventRecord | undefined {
  const { seq, run, type, data } = fields;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1) return undefined;
  if (typeof run !== "string" || typeof type !== "string") return undefined;
  const head = { seq, token, time, runId: run, type };
  return { kind: "event", event: data === undefined ? head : { ...head, data: data as JsonValue }, by };
}

function markFields({ kind, id, token, time, by }: MarkRecord): object {
  return { kind, v: FORMAT, id, token: token.toString(), time, by };
}

function eventFields({ event, by }: EventRecord): object {
  const { seq, token, time, runId, type, data } = event;
  return { kind: "event", seq, token: token.toString(), time, run: runId, type, data, by };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parseObject(line: Uint8Array): Fields | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(line));
    return typeof value === "object" && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function parseToken(text: unknown): bigint | undefined {
  if (typeof text !== "string" || !/^(?:0|[1-9]\d{0,18})$/.test(text)) return undefined;
  const token = BigInt(text);
  return token <= MAX_TOKEN ? token : undefined;
}
