import type { Clock, Timer } from "./clock.js";

/** Node turns a longer delay into one of 1 ms. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** Ms between two readings that count as one. */
const CLOSE = 0.01;
/** Tries, on a machine so busy that it comes between every two. */
const MOST_READINGS = 100;

// CLOCK_MONOTONIC itself, which every process of the host shares, at the price of performance.now().
const sharedOrigin = readSharedOrigin();

/**
 * What performance.now() lacks. A process that is put aside between its readings of the two clocks would be wrong for all
 * its life, by as long as that took: so the one is read on both sides of the other, until nothing came between.
 */
function readSharedOrigin(): number {
  let best = { width: Number.POSITIVE_INFINITY, origin: 0 };
  for (let reading = 0; reading < MOST_READINGS && best.width > CLOSE; reading += 1) {
    const before = performance.now();
    const shared = Number(process.hrtime.bigint()) / 1e6;
    const width = performance.now() - before;
    if (width < best.width) best = { width, origin: shared - before - width / 2 };
  }
  return best.origin;
}

class HostTimer implements Timer {
  readonly #callback: () => void;
  readonly #due: number;
  readonly #keepAlive: boolean;
  #handle: ReturnType<typeof setTimeout> | undefined;

  constructor(callback: () => void, delayMs: number, keepAlive: boolean) {
    this.#callback = callback;
    this.#keepAlive = keepAlive;
    this.#due = hostClock.monotonic() + delayMs;
    this.#arm();
  }

  #arm(): void {
    const left = Math.min(Math.max(Math.ceil(this.#due - hostClock.monotonic()), 0), LONGEST_TIMEOUT);
    this.#handle = setTimeout(() => {
      // Node's timers may fire up to a millisecond early, and long delays are waited for in parts.
      if (hostClock.monotonic() < this.#due) this.#arm();
      else this.#callback();
    }, left);
    // Where timers are numbers (Electron, jsdom) there is nothing to unref.
    if (!this.#keepAlive) (this.#handle as { unref?: () => void }).unref?.();
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/** The clock of the machine. `monotonic` is CLOCK_MONOTONIC, comparable between processes of one host (on Linux). */
export const hostClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => sharedOrigin + performance.now(),
  schedule: (callback, delayMs, { keepAlive = false } = {}) => new HostTimer(callback, delayMs, keepAlive),
};
