import type { Clock } from "@leasehold/session-lease";
import { AlarmQueue, type Ring } from "./alarm-queue.js";

/** The one alarm of a keeper: set for whichever of its deadlines comes first, and able to say how late it is. */
export class Alarm implements Ring {
  /** Monotonic ms. Kept while it rings, so that whoever is woken can ask how late that was. */
  due: number = Number.POSITIVE_INFINITY;
  place = -1;
  readonly ring: () => void;
  readonly #queue: AlarmQueue;

  constructor(clock: Clock, ring: () => void) {
    this.ring = ring;
    this.#queue = AlarmQueue.of(clock);
  }

  /** Replaces what it was set for. `due` and `now` are monotonic ms. */
  set(due: number, now: number): void {
    if (this.place < 0 || this.due !== due) this.#queue.put(this, due, now);
  }

  /** Ms since the moment at which it should have rung; negative while that lies ahead. */
  lateness(now: number): number {
    return now - this.due;
  }

  cancel(): void {
    this.#queue.remove(this);
    this.due = Number.POSITIVE_INFINITY;
  }
}
