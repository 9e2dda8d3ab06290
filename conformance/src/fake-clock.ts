/**
 * Time that stands still until a test moves it.
 *
 * Wall and monotonic time move apart, because the bugs worth finding live where they do: NTP or an operator steps the
 * wall clock (`stepWall`), a stuck or slewed wall clock stands while time goes on (`freezeWall`), a suspended machine
 * stops its monotonic clock while the world goes on (`suspend`). Timers run on monotonic time alone, as Node's do.
 *
 * `advance` fires the timers that fall due, in order, each at exactly its own instant, and lets promises settle after
 * every one. Settling means a fixed number of turns of the event loop, enough for any chain of promises (which needs one)
 * and for short hops through `setImmediate`. It is not enough for real I/O, which ends when it ends: pass `settle` and
 * wait there for whatever your code does outside of the process's memory. Nothing here sleeps.
 */

import type { Clock, Timer } from "@leasehold/session-lease";
import { TimerQueue } from "./timer-queue.js";

/** Turns of the event loop after each timer. */
const TURNS = 4;
/** Timers that may fire at one instant: beyond it, one of them sets itself again without letting time pass. */
const MOST_AT_ONCE = 100_000;

export interface FakeClockOptions {
  /** Epoch ms to begin at; 1,700,000,000,000 (November 2023) unless given. */
  readonly wall?: number | undefined;
  /** Ms to begin at; 0 unless given. */
  readonly monotonic?: number | undefined;
  /** Awaited before the first timer, after each, and at the end of `advance`; a few turns of the event loop unless given. */
  readonly settle?: (() => Promise<void>) | undefined;
}

export class FakeClock implements Clock {
  readonly #timers = new TimerQueue();
  readonly #settle: () => Promise<void>;
  #monotonic: number;
  /** Wall less monotonic time, while the wall clock goes. */
  #offset: number;
  /** Where the wall clock stands, while it is frozen. */
  #frozenAt: number | undefined;
  /** Ends when the last `advance` asked for so far has ended. */
  #moved: Promise<void> = Promise.resolve();

  constructor(options: FakeClockOptions = {}) {
    const { wall = 1_700_000_000_000, monotonic = 0, settle = turnsOfTheEventLoop } = options;
    this.#monotonic = monotonic;
    this.#offset = wall - monotonic;
    this.#settle = settle;
  }

  wall(): number {
    return this.#frozenAt ?? this.#offset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  schedule(callback: () => void, delayMs: number): Timer {
    const entry = this.#timers.add(this.#monotonic + Math.max(delayMs, 0), callback);
    return { cancel: () => void this.#timers.remove(entry) };
  }

  /** Timers that are set and have neither fired nor been cancelled: what a closed subject must have none of. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Ms of monotonic time until the next timer; undefined when none is set. */
  get untilNextTimer(): number | undefined {
    const { first } = this.#timers;
    return first && Math.max(first.due - this.#monotonic, 0);
  }

  /**
   * Moves both clocks on by `ms`, timers and promises included. `advance(0)` fires what is due now. Calls that overlap
   * follow one another. Throws `RangeError` unless `ms` is zero or more; rejects with what a timer throws.
   */
  async advance(ms: number): Promise<void> {
    checkForward(ms);
    const moved = this.#moved.then(() => this.#advance(ms));
    this.#moved = moved.catch(() => undefined);
    return moved;
  }

  /** Steps the wall clock alone, either way, at once. Fires nothing: timers know only monotonic time. */
  stepWall(ms: number): void {
    if (this.#frozenAt === undefined) this.#offset += ms;
    else this.#frozenAt += ms;
  }

  /** The wall clock stands, whatever time passes, until `thawWall`. */
  freezeWall(): void {
    this.#frozenAt ??= this.wall();
  }

  /** The wall clock goes on from where it stands. */
  thawWall(): void {
    if (this.#frozenAt === undefined) return;
    this.#offset = this.#frozenAt - this.#monotonic;
    this.#frozenAt = undefined;
  }

  /** The machine sleeps for `ms`: wall time passes and monotonic time stands. Throws `RangeError` unless `ms` is zero or more. */
  suspend(ms: number): void {
    checkForward(ms);
    this.stepWall(ms);
  }

  /** Lets promises settle without letting time pass or firing anything. */
  settle(): Promise<void> {
    return this.#settle();
  }

  async #advance(ms: number): Promise<void> {
    await this.#settle();
    const end = this.#monotonic + ms;
    for (let atOnce = 0; ; ) {
      const { first } = this.#timers;
      if (first === undefined || first.due > end) break;
      atOnce = first.due > this.#monotonic ? 0 : atOnce + 1;
      if (atOnce === MOST_AT_ONCE) throw new Error(`${MOST_AT_ONCE} timers fired without any time passing`);
      this.#timers.remove(first);
      this.#monotonic = Math.max(this.#monotonic, first.due);
      first.callback();
      await this.#settle();
    }
    this.#monotonic = end;
    await this.#settle();
  }
}

function checkForward(ms: number): void {
  if (!(ms >= 0 && Number.isFinite(ms))) throw new RangeError(`time moves forward by 0 ms or more, not by ${ms}`);
}

async function turnsOfTheEventLoop(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
