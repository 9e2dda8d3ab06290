/** How much of a session is held in memory at once, whatever it holds in all. */

import type { EventPage, StoredEvent } from "./store.js";

const TAIL_EVENTS = 64;
const TAIL_BYTES = 1024 * 1024;
const PAGE_BYTES = 4 * 1024 * 1024;

/** The newest of the events that pass, and always the very last. */
export class Tail {
  #kept: { event: StoredEvent; bytes: number }[] = [];
  #bytes = 0;

  add(event: StoredEvent, bytes: number): void {
    this.#kept.push({ event, bytes });
    this.#bytes += bytes;
    while (this.#kept.length > TAIL_EVENTS || (this.#bytes > TAIL_BYTES && this.#kept.length > 1)) {
      this.#bytes -= this.#kept.shift()?.bytes ?? 0;
    }
  }

  get events(): readonly StoredEvent[] {
    return this.#kept.map(({ event }) => event);
  }

  /** From which seq on a tail can reach back. */
  static start(lastSeq: number): number {
    return Math.max(0, lastSeq - TAIL_EVENTS);
  }
}

/** The oldest of the events that pass, as many as a page takes. */
export class Page {
  readonly #limit: number;
  readonly #events: StoredEvent[] = [];
  #bytes = 0;
  #more = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns false when the page is full, and this event is not on it. */
  add(event: StoredEvent, bytes: number): boolean {
    const full = this.#events.length >= this.#limit || (this.#bytes + bytes > PAGE_BYTES && this.#events.length > 0);
    if (full) this.#more = true;
    else this.#events.push(event);
    this.#bytes += bytes;
    return !full;
  }

  result(): EventPage {
    const next = this.#more ? this.#events.at(-1)?.seq : undefined;
    return next === undefined ? { events: this.#events } : { events: this.#events, next };
  }
}
