/**
 * Notices that the wall clock and the monotonic clock have come apart: the machine was suspended, or the wall clock was
 * stepped. No timer tells of either, since timers count monotonic time, so this looks once a second, one look for all
 * keepers of a clock. It only makes the discovery prompt: every check of validity does its own arithmetic.
 */

import { type Clock, type Moment, momentOf, type Timer } from "@leasehold/session-lease";

/** Ms between two looks. */
const INTERVAL = 1_000;
/** Ms by which the clocks may part between two looks: NTP slews by half a millisecond in a second. */
const ORDINARY = 50;

/** Ms by which the two clocks have moved differently between two moments; never negative. */
export function clocksApart(since: Moment, now: Moment): number {
  return Math.abs(now.wall - since.wall - (now.monotonic - since.monotonic));
}

export class ClockWatch {
  static readonly #watches = new WeakMap<Clock, ClockWatch>();
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #timer: Timer | undefined;
  #last: Moment;

  static of(clock: Clock): ClockWatch {
    const known = ClockWatch.#watches.get(clock);
    if (known !== undefined) return known;
    const watch = new ClockWatch(clock);
    ClockWatch.#watches.set(clock, watch);
    return watch;
  }

  private constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = momentOf(clock);
  }

  /** The listener must not throw. It looks only while somebody listens. */
  add(listener: () => void): void {
    this.#listeners.add(listener);
    if (this.#timer !== undefined) return;
    this.#last = momentOf(this.#clock);
    this.#schedule();
  }

  delete(listener: () => void): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    this.#timer = this.#clock.schedule(() => this.#look(), INTERVAL);
  }

  #look(): void {
    this.#schedule();
    const now = momentOf(this.#clock);
    const apart = clocksApart(this.#last, now) > ORDINARY;
    this.#last = now;
    if (apart) for (const listener of [...this.#listeners]) listener();
  }
}
