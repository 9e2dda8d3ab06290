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
  #pass: Promise<void> | undefined;
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
    if (this.#pass === undefined && due < this.#timerDue) this.#arm(due, now);
  }

  /** Resolves when no request is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#due.clear();
    await this.#pass;
  }

  #arm(due: number, now: number): void {
    if (this.#stopped || !Number.isFinite(due)) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    const delay = Math.min(Math.max(due - now, 0) + Math.min(GATHER, this.#forgetAfter), LONGEST_DELAY);
    this.#timer = this.#clock.schedule(() => {
      this.#pass = this.#run();
    }, delay);
  }

  /** One pass. Never rejects. */
  async #run(): Promise<void> {
    this.#timerDue = Number.POSITIVE_INFINITY;
    const now = Math.floor(this.#clock.wall());
    try {
      for (const [sessionId, due] of this.#due) {
        if (this.#stopped) return;
        if (due <= now) await this.#forget(sessionId, due, now);
      }
      await this.#scan(now);
    } catch {
      // The store is in trouble: what is due stays due, and a later pass tries again.
    } finally {
      this.#pass = undefined;
      let next = Number.POSITIVE_INFINITY;
      for (const due of this.#due.values()) if (due < next) next = due;
      this.#arm(Math.max(next, now + 1), now);
    }
  }

  async #forget(sessionId: string, due: number, passedAt: number): Promise<void> {
    try {
      const loaded = await this.#store.load(sessionId, {});
      const now = Math.floor(loaded?.now ?? this.#clock.wall());
      if (loaded?.record !== undefined && !isForgettable(loaded.record, now, this.#forgetAfter)) {
        this.#settle(sessionId, due, Math.max(forgettableAt(loaded.record, this.#forgetAfter), passedAt + 1));
        return;
      }
      const gone = loaded?.record === undefined || (await this.#store.swap(sessionId, loaded.version, undefined, {}));
      if (gone !== false) this.#settle(sessionId, due);
    } catch (error) {
      // Put off, so that one session that cannot be read does not stand in the way of all behind it.
      this.#settle(sessionId, due, passedAt + this.#forgetAfter);
      throw error;
    }
  }

  /** Only if nothing was stored and noted since the session was looked up: a note that came in between is newer. */
  #settle(sessionId: string, due: number, next?: number): void {
    if (this.#stopped || (this.#due.get(sessionId) ?? due) !== due) return;
    this.#due.delete(sessionId);
    if (next !== undefined) this.#due.set(sessionId, next);
  }

  /** What other processes left. */
  async #scan(now: number): Promise<void> {
    if (this.#store.scan === undefined || now < this.#nextScan) return;
    this.#nextScan = now + this.#forgetAfter;
    for await (const { sessionId, record, now: storeNow } of this.#store.scan({})) {
      if (this.#stopped) return;
      const due = forgettableAt(record, this.#forgetAfter);
      if (this.#due.has(sessionId) || !isForgettable(record, Math.floor(storeNow ?? now), this.#forgetAfter)) continue;
      await this.#forget(sessionId, due, now);
    }
  }
}
