/** What has been opened so far, to be closed in reverse order. */
export class Opened {
  readonly #closes: (() => Promise<unknown>)[] = [];

  /** `close` will be called once, after those of everything added later. */
  add(close: () => Promise<unknown>): void {
    this.#closes.push(close);
  }

  /** Closes everything, whatever fails; then rejects with the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closes.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
