/**
 * What is to be called when, for all alarms of one clock: one timer for however many there are, set for the earliest of them
 * or, if that one has been moved since, for a moment before it. A process may keep ten thousand leases, each of which moves
 * its alarm with every renewal; a timer of the platform for each would cost more than all that a keeper remembers.
 *
 * A binary heap by due time, in which each entry knows its place, so that it can be moved and removed.
 */

import type { Clock, Timer } from "@leasehold/session-lease";

/** Places of an entry outside the heap. */
const OUTSIDE = -1;
/** Taken out to be rung, behind others that ring first. */
const AWAITING = -2;

/**
 * Rings at a stretch. After a suspension all are due at once, and promises settle only between two stretches: the answers to
 * what the first have asked must not come too late because the last have yet to ask.
 */
const MOST_AT_ONCE = 100;

export interface Ring {
  /** Monotonic ms. Only `AlarmQueue.put` changes it while the entry is in the queue. */
  due: number;
  /** Its index in the heap; negative outside, and at first -1. The queue's own. */
  place: number;
  /**
   * Must not throw; if it does, that is its clock's to deal with, and the others ring all the same. Not in the queue any more
   * when it is called, and free to put itself there again.
   */
  ring(): void;
}

export class AlarmQueue {
  static readonly #queues = new WeakMap<Clock, AlarmQueue>();
  readonly #clock: Clock;
  readonly #heap: Ring[] = [];
  readonly #fire = (): void => this.#ringAll();
  #timer: Timer | undefined;
  /** Monotonic ms; meaningful while there is a timer. */
  #timerDue = 0;
  #isRinging = false;

  static of(clock: Clock): AlarmQueue {
    const known = AlarmQueue.#queues.get(clock);
    if (known !== undefined) return known;
    const queue = new AlarmQueue(clock);
    AlarmQueue.#queues.set(clock, queue);
    return queue;
  }

  private constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rings it at `due`, or at once if that is past, but never within this call. Replaces what it was set for. `now`: monotonic ms. */
  put(entry: Ring, due: number, now: number): void {
    entry.due = due;
    if (entry.place < 0) {
      entry.place = this.#heap.length;
      this.#heap.push(entry);
    }
    this.#settle(entry);
    this.#setTimer(now);
  }

  remove(entry: Ring): void {
    const { place } = entry;
    entry.place = OUTSIDE;
    if (place < 0) return;
    const last = this.#heap.pop();
    if (last !== undefined && last !== entry) {
      last.place = place;
      this.#heap[place] = last;
      this.#settle(last);
    }
    if (this.#heap.length > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Those that are due now, the earliest first. What is set anew while they ring is for the next time, so that this ends. */
  #ringAll(): void {
    this.#timer = undefined;
    this.#isRinging = true;
    const now = this.#clock.monotonic();
    const due: Ring[] = [];
    while (due.length < MOST_AT_ONCE) {
      const first = this.#heap[0];
      if (first === undefined || first.due > now) break;
      this.remove(first);
      first.place = AWAITING;
      due.push(first);
    }
    try {
      for (const entry of due) {
        // One that rang before it may have moved or removed it.
        if (entry.place !== AWAITING) continue;
        entry.place = OUTSIDE;
        entry.ring();
      }
    } finally {
      this.#isRinging = false;
      const later = this.#clock.monotonic();
      for (const entry of due) if (entry.place === AWAITING) this.put(entry, entry.due, later);
      this.#setTimer(later);
    }
  }

  #setTimer(now: number): void {
    const first = this.#heap[0];
    if (first === undefined || this.#isRinging) return;
    if (this.#timer !== undefined && this.#timerDue <= first.due) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = first.due;
    this.#timer = this.#clock.schedule(this.#fire, Math.max(0, first.due - now));
  }

  /** Moves an entry of the heap to where its due time belongs. */
  #settle(entry: Ring): void {
    for (let above = this.#heap[parentOf(entry.place)]; above !== undefined && entry.due < above.due; ) {
      this.#swap(entry, above);
      above = this.#heap[parentOf(entry.place)];
    }
    for (let below = this.#earlierChild(entry.place); below !== undefined && below.due < entry.due; ) {
      this.#swap(entry, below);
      below = this.#earlierChild(entry.place);
    }
  }

  #earlierChild(place: number): Ring | undefined {
    const left = this.#heap[2 * place + 1];
    const right = this.#heap[2 * place + 2];
    return left !== undefined && right !== undefined && right.due < left.due ? right : left;
  }

  #swap(a: Ring, b: Ring): void {
    [a.place, b.place] = [b.place, a.place];
    this.#heap[a.place] = a;
    this.#heap[b.place] = b;
  }
}

/** Of the first place there is none: -1. */
function parentOf(place: number): number {
  return place === 0 ? -1 : (place - 1) >> 1;
}
