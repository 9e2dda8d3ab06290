import type { Clock } from "@leasehold/session-lease";

/** How long a run waits for its session. Ends when its time is over, when the run is aborted, or with `end`. */
export class Patience {
  /** Monotonic ms. */
  readonly #deadline: number;
  readonly #clock: Clock;
  readonly #cut = new AbortController();
  readonly #end: () => void;

  /** `ms`: what is left of the time to wait. The wait is somebody's, so its timer keeps the program alive. */
  constructor(clock: Clock, ms: number, aborted: AbortSignal) {
    this.#clock = clock;
    this.#deadline = clock.monotonic() + ms;
    const cut = (): void => this.#cut.abort(aborted.reason);
    const timer = clock.schedule(() => this.#cut.abort(), Math.max(0, ms), { keepAlive: true });
    aborted.addEventListener("abort", cut, { once: true });
    if (aborted.aborted) cut();
    this.#end = () => {
      timer.cancel();
      aborted.removeEventListener("abort", cut);
    };
  }

  /** Aborted when there is nothing more to wait for. */
  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  /** By the clock, which a timer may lag behind. */
  get isOver(): boolean {
    return this.#cut.signal.aborted || this.#clock.monotonic() >= this.#deadline;
  }

  end(): void {
    this.#end();
  }
}
