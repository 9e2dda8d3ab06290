import type { HistoryEvent, MetaEvent } from "./event.js";

type Written<E> = E extends unknown ? Omit<E, "source"> : never;

/** An event before it stands on a line. */
export type UnwrittenEvent = Written<HistoryEvent> | Written<MetaEvent>;

/** One event as the line that `readHistory` reads, without the line break. */
export function encodeEvent(event: UnwrittenEvent): string {
  const flat = event.event === "return" ? { ...event, ...event.answer } : event;
  return JSON.stringify(flat, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}
