import type { Clock, Timer } from "@leasehold/session-lease";

/** The one timer of a keeper: set for whichever of its deadlines comes first, and able to say how late it is. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: Timer | undefined;
  /** Monotonic ms. Kept while it rings, so that whoever is woken can ask how late that was. */
  #due = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Replaces what it was set for. `due` and `now` are monotonic ms. */
  set(due: number, now: number): void {
    if (this.#timer !== undefined && this.#due === due) return;
    this.#timer?.cancel();
    this.#due = due;
    this.#timer = this.#clock.schedule(
      () => {
        this.#timer = undefined;
        this.#ring();
      },
      Math.max(0, due - now),
    );
  }

  /** Ms since the moment at which it should have rung; negative while that lies ahead. */
  lateness(now: number): number {
    return now - this.#due;
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
  }
}
