/**
 * How long a hold has stood still while this process watched it, whatever any clock says about it.
 *
 * Every renewal moves the hold's pulse. Who has watched the same pulse for the ttl, counted from the receipt of the first
 * look, knows that the last renewal was sent before that, so that its holder has stopped acting: the two need not agree about
 * the time, only about how fast it passes. Time is counted on the smaller of the two local clocks and never backwards.
 *
 * Other writers (a request to let go, a label set by hand) move the version and not the pulse. They do not begin the count
 * anew, and a takeover that has not seen them fails on the version.
 */

import { type Clock, elapsedForWatcher, type Moment, momentOf } from "@leasehold/session-lease";

/** Sessions; the one watched longest is given up, which costs a rival of its holder another ttl. */
const MOST_WATCHED = 100_000;

type Watch = { readonly pulse: string; silent: number; countedAt: Moment };

export class Silence {
  readonly #clock: Clock;
  readonly #watches = new Map<string, Watch>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ms for which this pulse has been seen; zero if it is new. */
  of(sessionId: string, pulse: string): number {
    const present = momentOf(this.#clock);
    const known = this.#watches.get(sessionId);
    if (known?.pulse !== pulse) {
      this.#watches.delete(sessionId);
      this.#watches.set(sessionId, { pulse, silent: 0, countedAt: present });
      this.#trim();
      return 0;
    }
    known.silent += Math.max(0, elapsedForWatcher(known.countedAt, present));
    known.countedAt = present;
    return known.silent;
  }

  forget(sessionId: string): void {
    this.#watches.delete(sessionId);
  }

  #trim(): void {
    if (this.#watches.size <= MOST_WATCHED) return;
    for (const oldest of this.#watches.keys()) {
      this.#watches.delete(oldest);
      return;
    }
  }
}
