import { type Clock, hostClock, type Timer } from "@leasehold/session-lease";

/** The clock of the host, with a wall clock that can be stepped as an operator would. */
export class SteppedClock implements Clock {
  #ahead: number;

  /** `ahead`: ms by which its wall clock is ahead of the host's. */
  constructor(ahead = 0) {
    this.#ahead = ahead;
  }

  get ahead(): number {
    return this.#ahead;
  }

  wall(): number {
    return hostClock.wall() + this.#ahead;
  }

  monotonic(): number {
    return hostClock.monotonic();
  }

  schedule(callback: () => void, delayMs: number, options?: Parameters<Clock["schedule"]>[2]): Timer {
    return hostClock.schedule(callback, delayMs, options);
  }

  /** Whole ms, either way. No timer fires for it. */
  step(ms: number): void {
    this.#ahead += ms;
  }
}
