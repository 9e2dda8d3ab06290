/**
 * What holder and watcher say to each other: one JSON object a line, UTF-8. The holder numbers its messages, and the
 * watcher acknowledges a number when it has acted on it. Both ends are of one version of this package.
 */

import type { Moment } from "@leasehold/session-lease";
import { type GroupIdentity, requireGroupIdentity } from "./group-identity.js";
import type { WatchReport } from "./watch.js";

export type HolderMessage =
  | Readonly<{ type: "register"; group: GroupIdentity; until: Moment; suspended: boolean; held: boolean }>
  | Readonly<{ type: "extend"; id: number; until: Moment }>
  | Readonly<{ type: "suspend" | "resume" | "forget"; id: number }>;

export type Numbered = HolderMessage & Readonly<{ seq: number }>;

export type WatcherMessage =
  | Readonly<{ type: "ready" }>
  | Readonly<{ type: "ack"; seq: number }>
  | Readonly<{ type: WatchReport; id: number }>;

export function encodeLine(message: Numbered | WatcherMessage): string {
  return `${JSON.stringify(message)}\n`;
}

/** JSON writes Infinity as null, and null is read back as Infinity: an end that never comes. */
function decodeMoment(value: unknown): Moment {
  const { wall, monotonic } = value as Record<keyof Moment, unknown>;
  return { wall: decodeMs(wall), monotonic: decodeMs(monotonic) };
}

function decodeMs(value: unknown): number {
  if (value === null) return Number.POSITIVE_INFINITY;
  if (typeof value === "number") return value;
  throw new TypeError("not a number of ms");
}

type Field = "seq" | "type" | "id" | "group" | "until" | "suspended" | "held";

/** Throws on anything that is not a message of a holder. */
export function decodeHolderMessage(line: string): Numbered {
  const message = JSON.parse(line) as Partial<Record<Field, unknown>>;
  const { seq, type, id } = message;
  if (typeof seq !== "number") throw new TypeError("no sequence number");
  if (type === "register") {
    return {
      seq,
      type,
      group: requireGroupIdentity(message.group),
      until: decodeMoment(message.until),
      suspended: message.suspended === true,
      held: message.held === true,
    };
  }
  if (typeof id !== "number") throw new TypeError("no group id");
  if (type === "extend") return { seq, type, id, until: decodeMoment(message.until) };
  if (type === "suspend" || type === "resume" || type === "forget") return { seq, type, id };
  throw new TypeError(`unknown message: ${String(type)}`);
}

/**
 * Cuts chunks into lines. A last line without its line break is never given out: it may be torn, because its writer was
 * killed inside the write.
 */
export class LineCutter {
  #rest = "";

  push(chunk: string): string[] {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines;
  }
}
