/**
 * The clocks of one simulated machine. Both run at the machine's own rate; the wall clock may be set to anything and
 * stepped, and the monotonic clock stands still while the machine is suspended.
 */

import type { Timeline } from "./timeline.js";

/** Epoch ms at which every world begins, on a clock without skew: 2023-11-14T22:13:20Z. */
export const EPOCH = 1_700_000_000_000;

export interface HostClockOptions {
  /** Ms by which the wall clock is ahead of true time. */
  readonly skew: number;
  /** Ms of local time that pass in one ms of true time. */
  readonly rate: number;
}

export class HostClocks {
  readonly rate: number;
  readonly #timeline: Timeline;
  #wallOffset: number;
  #suspended = 0;

  constructor(timeline: Timeline, { skew, rate }: HostClockOptions) {
    this.#timeline = timeline;
    this.#wallOffset = EPOCH + skew;
    this.rate = rate;
  }

  wall(): number {
    return this.#wallOffset + this.#timeline.now * this.rate;
  }

  monotonic(): number {
    return this.#timeline.now * this.rate - this.#suspended;
  }

  stepWall(ms: number): void {
    this.#wallOffset += ms;
  }

  /** The machine has slept for `ms` of true time: its wall clock went on, its monotonic clock did not. */
  hasSlept(ms: number): void {
    this.#suspended += ms * this.rate;
  }

  /** True ms until `ms` of local time have passed. */
  trueMs(ms: number): number {
    return ms / this.rate;
  }
}
