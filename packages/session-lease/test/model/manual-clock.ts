import type { Clock, Timer } from "../../src/index.js";

type Due = { readonly at: number; readonly callback: () => void };

/** Time that moves only when a test says so: `elapse` moves both clocks, `step` the wall clock alone. */
export class ManualClock implements Clock {
  #elapsed = 0;
  #offset: number;
  readonly #timers = new Set<Due>();

  constructor(start = 1_700_000_000_000) {
    this.#offset = start;
  }

  wall(): number {
    return this.#offset + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  schedule(callback: () => void, delayMs: number): Timer {
    const due = { at: this.#elapsed + delayMs, callback };
    this.#timers.add(due);
    return { cancel: () => void this.#timers.delete(due) };
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Ms until the next timer is due; undefined when there is none. */
  untilNext(): number | undefined {
    const times = [...this.#timers].map(({ at }) => at);
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - this.#elapsed);
  }

  step(ms: number): void {
    this.#offset += ms;
  }

  /** Fires what falls due, in order. Promises that wait for it settle after the test's next await. */
  elapse(ms: number): void {
    const end = this.#elapsed + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#elapsed = Math.max(this.#elapsed, next.at);
      this.#timers.delete(next);
      next.callback();
    }
    this.#elapsed = end;
  }
}

/** Lets everything run that waits for promises alone. Enough turns for the longest chain in this package, with room. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await undefined;
}
