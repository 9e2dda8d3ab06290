/**
 * Real time, used for one thing only: to turn what would hang for ever into a failure. No outcome of a sound lease
 * depends on it.
 */

/** The promise, or `CheckFailure` by way of `complain` once `ms` of real time are over. */
export function orGiveUp<T>(promise: Promise<T>, ms: number, complain: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(complain()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** So many ms of real time from now on. */
export class Patience {
  readonly #began: number;
  readonly #ms: number;

  constructor(ms: number) {
    this.#began = performance.now();
    this.#ms = ms;
  }

  /** From 0 to 1, when all of it is spent. */
  get spent(): number {
    return Math.min((performance.now() - this.#began) / this.#ms, 1);
  }
}
