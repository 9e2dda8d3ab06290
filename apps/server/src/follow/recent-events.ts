import type { StoredEvent } from "@leasehold/session-store";
import { frameOf } from "../http/event-stream.js";
import { shownEvent } from "../run/run-events.js";

const MAX_EVENTS = 256;
const MAX_BYTES = 1_048_576;

/** An event of a log, ready to be sent. */
export interface FeedEvent {
  readonly seq: number;
  readonly runId: string;
  readonly type: string;
  readonly frame: Buffer;
}

export function feedEvent(event: StoredEvent): FeedEvent {
  const { seq, runId, type } = event;
  return { seq, runId, type, frame: frameOf({ type, seq, body: shownEvent(event) }) };
}

/** The newest events of a log, side by side: at most 256, and at most 1 MiB unless the last one alone is larger. */
export class RecentEvents {
  #events: FeedEvent[] = [];
  #bytes = 0;

  add(events: readonly FeedEvent[]): void {
    for (const event of events) {
      const last = this.#events.at(-1);
      // Damage to a log can make a seq that skips numbers; `after` counts along them.
      if (last !== undefined && event.seq !== last.seq + 1) this.#forget();
      this.#events.push(event);
      this.#bytes += event.frame.length;
    }
    while (this.#events.length > MAX_EVENTS || (this.#bytes > MAX_BYTES && this.#events.length > 1)) {
      this.#bytes -= this.#events.shift()?.frame.length ?? 0;
    }
  }

  /** Everything after `seq`; undefined when some of that is not here. */
  after(seq: number): readonly FeedEvent[] | undefined {
    const oldest = this.#events[0]?.seq;
    return oldest === undefined || seq < oldest - 1 ? undefined : this.#events.slice(seq - oldest + 1);
  }

  #forget(): void {
    this.#events = [];
    this.#bytes = 0;
  }
}
