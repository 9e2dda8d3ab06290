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
  readonly #end: number;

  constructor(ms: number) {
    this.#end = performance.now() + ms;
  }

  get over(): boolean {
    return performance.now() >= this.#end;
  }
}
