/**
 * Removes dead records when the clock is past both their expiry and their token by `forgetAfter`, so that nothing grows
 * for ever. From that moment on a new token, seeded by the clock, is higher than the forgotten one even if the clock is
 * then stepped back by less than `forgetAfter`.
 *
 * It knows the records that this process stored, and at most once per `forgetAfter` asks the store for those that other
 * processes left. A record is looked at again before it is removed, and removed by compare-and-set: whatever happened
 * to it in between wins.
 *
 * States: *idle* (nothing noted, no timer), *waiting* (a timer is set), *passing* (one pass runs; what is noted meanwhile
 * waits for the next), *stopped*.
 */

import type { CasStore } from "./cas-store.js";
import type { Clock, Timer } from "./clock.js";
import { forgettableAt, isForgettable, type LeaseRecord } from "./record.js";

/** Ms for which a pass is put off so that it finds more than one record. */
const GATHER = 1000;
/** Ms. */
const LONGEST_DELAY = 3_600_000;

export class Forgetter<V> {
  readonly #store: CasStore<V>;
  readonly #clock: Clock;
  readonly #forgetAfter: number;
  /** Session id to the epoch ms from which on its record may be forgotten. */
  readonly #due = new Map<string, number>();
  #timer: Timer | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #passing = false;
  #stopped = false;
  #nextScan = 0;

  constructor(store: CasStore<V>, clock: Clock, forgetAfter: number) {
    this.#store = store;
    this.#clock = clock;
    this.#forgetAfter = forgetAfter;
  }

  /** A record that this process has just stored. */
  note(sessionId: string, record: LeaseRecord, now: number): void {
    const due = forgettableAt(record, this.#forgetAfter);
    this.#due.set(sessionId, due);
    if (!this.#passing && due < this.#timerDue) this.#arm(due, now);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#due.clear();
  }

  #arm(due: number, now: number): void {
    if (this.#stopped || !Number.isFinite(due)) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    const delay = Math.min(Math.max(due - now, 0) + Math.min(GATHER, this.#forgetAfter), LONGEST_DELAY);
    this.#timer = this.#clock.schedule(() => void this.#pass(), delay);
  }

  async #pass(): Promise<void> {
    this.#passing = true;
    this.#timerDue = Number.POSITIVE_INFINITY;
    const now = Math.floor(this.#clock.wall());
    try {
      for (const [sessionId, due] of this.#due) {
        if (this.#stopped) return;
        if (due <= now) await this.#forget(sessionId);
      }
      await this.#scan(now);
    } catch {
      // The store is in trouble: what is due stays due, and the next pass tries again.
    } finally {
      this.#passing = false;
      let next = Number.POSITIVE_INFINITY;
      for (const due of this.#due.values()) if (due < next) next = due;
      this.#arm(Math.max(next, now + 1), now);
    }
  }

  async #forget(sessionId: string): Promise<void> {
    const answer = this.#store.load(sessionId, {});
    const loaded = answer instanceof Promise ? await answer : answer;
    if (loaded?.record === undefined) {
      this.#due.delete(sessionId);
      return;
    }
    const now = loaded.now ?? Math.floor(this.#clock.wall());
    if (!isForgettable(loaded.record, now, this.#forgetAfter)) {
      this.#due.set(sessionId, Math.max(forgettableAt(loaded.record, this.#forgetAfter), now + 1));
      return;
    }
    const swap = this.#store.swap(sessionId, loaded.version, undefined, {});
    if ((swap instanceof Promise ? await swap : swap) !== false) this.#due.delete(sessionId);
  }

  /** What other processes left. */
  async #scan(now: number): Promise<void> {
    if (this.#store.scan === undefined || now < this.#nextScan) return;
    this.#nextScan = now + this.#forgetAfter;
    for await (const { sessionId, record } of this.#store.scan({})) {
      if (this.#stopped) return;
      if (!this.#due.has(sessionId) && isForgettable(record, now, this.#forgetAfter)) await this.#forget(sessionId);
    }
  }
}
