/**
 * The events of a session's log, and how clients see them.
 *
 * A run is `started`, any number of `output`, and one final event: `finished`, `failed` or `cancelled`. The final event is
 * written only when nothing of the run's agent is left. A last run without one therefore tells the next holder that its
 * agent may still be there.
 */

import type { EventHead, JsonValue, StoredEvent } from "@leasehold/session-store";

export type RunEventType = "started" | "output" | "finished" | "failed" | "cancelled";

/** Why a run `failed`. `exit` and `signal` are the agent's own end; `store` was not written to the log if the log cannot be written. */
export type FailReason =
  | "exit"
  | "signal"
  | "timeout"
  | "idle"
  | "drain"
  | "validity"
  | "unwatched"
  | "store"
  | "abandoned";

const FINAL: ReadonlySet<string> = new Set<RunEventType>(["finished", "failed", "cancelled"]);

export function isFinal(event: Pick<EventHead, "type">): boolean {
  return FINAL.has(event.type);
}

/** The key, in a `started` event's data, of the identity of the agent's process group. Not shown to clients. */
export const GROUP_KEY = "group";

/** The key, in a `started` event's data, of what the client called the request that began the run. Not shown to clients. */
export const REQUEST_KEY = "request";

/** What a client is told: an event of the log with its seq, or news that is in no log. */
export type RunNews = Readonly<{ type: string; seq?: number; body: JsonValue }>;

/** An event as clients see it: one flat object, the token in decimal. */
export function shownEvent({ type, seq, runId, token, time, data }: StoredEvent): {
  readonly [key: string]: JsonValue;
} {
  const { [GROUP_KEY]: _, [REQUEST_KEY]: __, ...rest } = isObject(data) ? data : {};
  return { type, seq, runId, token: token.toString(), time, ...rest };
}

/** The `group` of a `started` event, not yet checked. */
export function recordedGroup({ data }: StoredEvent): unknown {
  return isObject(data) ? data[GROUP_KEY] : undefined;
}

export function isObject(data: JsonValue | undefined): data is { readonly [key: string]: JsonValue } {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}
