/** Timers by due time; those due at the same instant, in the order in which they were set. */
export class TimerQueue {
  readonly #timers: Entry[] = [];
  #set = 0;

  get size(): number {
    return this.#timers.length;
  }

  /** The next to fire; undefined when none is pending. */
  get first(): Entry | undefined {
    return this.#timers[0];
  }

  /** `due`: ms of monotonic time. */
  add(due: number, callback: () => void): Entry {
    this.#set += 1;
    const entry = { due, order: this.#set, callback };
    this.#timers.splice(this.#placeOf(entry), 0, entry);
    return entry;
  }

  /** False if it was not pending: fired, or removed before. */
  remove(entry: Entry): boolean {
    const place = this.#placeOf(entry);
    if (this.#timers[place] !== entry) return false;
    this.#timers.splice(place, 1);
    return true;
  }

  /** Index of the first entry that does not come before `entry`. */
  #placeOf(entry: Entry): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#timers[middle];
      if (other !== undefined && (other.due - entry.due || other.order - entry.order) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export type Entry = Readonly<{ due: number; order: number; callback: () => void }>;
