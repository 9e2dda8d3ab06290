/**
 * How long a run may last, and how long it may be idle.
 *
 * States: *watching* (one timer, for whichever limit comes first; `touch` only writes the time down, and the timer, when it
 * fires, sees whether there was activity since), *reached* (the run has been told to end; a second timer counts the time that
 * it has for that), *over* (it has ended, or has been given up; no timer).
 */

import type { Clock, Timer } from "@leasehold/session-lease";
import { RunTimedOutError } from "./errors.js";

export interface RunLimitsOptions {
  readonly clock: Clock;
  /** Ms; undefined: no such limit. */
  readonly maxHold: number | undefined;
  readonly idleTimeout: number | undefined;
  /** Ms from a limit to `onAbandon`. */
  readonly abandonAfter: number;
  readonly onReached: (error: RunTimedOutError) => void;
  readonly onAbandon: () => void;
}

export class RunLimits {
  readonly #options: RunLimitsOptions;
  readonly #startedAt: number;
  #touchedAt: number;
  #timer: Timer | undefined;

  /** Begins at once. */
  constructor(options: RunLimitsOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#touchedAt = this.#startedAt;
    this.#watch();
  }

  touch(now: number): void {
    this.#touchedAt = now;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #watch(): void {
    const { clock, maxHold, idleTimeout, abandonAfter, onReached, onAbandon } = this.#options;
    const now = clock.monotonic();
    const heldLeft = maxHold === undefined ? Number.POSITIVE_INFINITY : this.#startedAt + maxHold - now;
    const idleLeft = idleTimeout === undefined ? Number.POSITIVE_INFINITY : this.#touchedAt + idleTimeout - now;
    const left = Math.min(heldLeft, idleLeft);
    if (left > 0) {
      this.#timer = clock.schedule(() => this.#watch(), left);
      return;
    }
    this.#timer = clock.schedule(onAbandon, abandonAfter);
    onReached(
      heldLeft <= idleLeft
        ? new RunTimedOutError("maxHold", maxHold ?? 0)
        : new RunTimedOutError("idleTimeout", idleTimeout ?? 0),
    );
  }
}
