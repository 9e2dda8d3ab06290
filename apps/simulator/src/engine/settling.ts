/**
 * Waits until every promise that can settle has settled: one callback of the event loop later, all microtasks have run, and
 * whoever left a rejection unhandled has been told of.
 *
 * Callbacks that were given to `setImmediate` together run in one iteration of the event loop, each followed by its
 * microtasks. An iteration costs more than most events of a simulated world do, so they are given in bundles. Those that
 * nobody waits for any more do nothing.
 */

const BUNDLE = 128;

export class Settling {
  #resolve: (() => void) | undefined;
  #left = 0;

  /** One at a time. Nothing in a simulated world waits for anything but promises. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#left > 0) return;
      this.#left = BUNDLE;
      for (let at = 0; at < BUNDLE; at += 1) setImmediate(this.#turn);
    });
  }

  readonly #turn = (): void => {
    this.#left -= 1;
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.();
  };
}
