/** Calls one after the other: each begins when the one before it has settled, however it ended. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(call, call);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
