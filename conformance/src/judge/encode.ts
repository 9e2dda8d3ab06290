import type { HistoryEvent, MetaEvent } from "./event.js";

type Written<E> = E extends unknown ? Omit<E, "source"> : never;

/** An event before it stands on a line. */
export type UnwrittenEvent = Written<HistoryEvent> | Written<MetaEvent>;

/** One event as the line that `readHistory` reads, without the line break. */
export function encodeEvent(event: UnwrittenEvent): string {
  const flat = event.event === "return" ? { ...event, ...event.answer } : event;
  return JSON.stringify(plain(flat));
}

/** A copy with tokens as text. A replacer would be asked about every field, which takes three times as long. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const copy: Record<string, unknown> = {};
  for (const field in value) copy[field] = plain((value as Record<string, unknown>)[field]);
  return copy;
}
