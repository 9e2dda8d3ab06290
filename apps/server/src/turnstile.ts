/** Lets at most `limit` pieces of work go on at once; the others wait, first come, first served. */
export class Turnstile {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Settles as `work` does, which begins when its turn has come. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#limit) this.#inside += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place goes to the next in line, so nobody who comes now can get ahead.
      if (next === undefined) this.#inside -= 1;
      else next();
    }
  }
}
