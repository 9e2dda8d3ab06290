import { findLeaseError, type Moment } from "@leasehold/session-lease";

/** Ms for a renewal at most; a shorter interval leaves less. */
const LONGEST_REQUEST = 5_000;

/** When to renew next. Moments are monotonic ms. */
export class RenewalPace {
  /** When the next renewal is to be sent. */
  due: number;
  readonly #renewEvery: number;
  readonly #random: () => number;
  #interval: number;
  #failures = 0;
  /** When the renewal that is not confirmed yet should first have been sent. */
  #waitingSince: number | undefined;

  /** The first renewal falls somewhere in the first interval, so that leases taken together are not renewed together. */
  constructor(start: number, renewEvery: number, ttl: number, random: () => number) {
    this.#renewEvery = renewEvery;
    this.#random = random;
    this.#interval = Math.min(renewEvery, ttl / 2);
    this.due = start + this.#interval * (0.1 + 0.9 * random());
  }

  /** The monotonic ms by which a request sent now must have been answered: below the interval, so that there is another try. */
  deadline(now: number): number {
    return now + Math.min(LONGEST_REQUEST, (this.#interval * 2) / 3);
  }

  hasten(now: number): void {
    this.due = Math.min(this.due, now);
  }

  sent(now: number): void {
    this.#waitingSince ??= Math.min(this.due, now);
  }

  /** Returns the ms from when the renewal was due until now. An authority may have stored a shorter ttl than it was asked for. */
  confirmed(sent: Moment, ttl: number, now: number): number {
    const lagMs = Math.max(0, now - (this.#waitingSince ?? now));
    this.#waitingSince = undefined;
    this.#failures = 0;
    this.#interval = Math.min(this.#renewEvery, ttl / 2);
    this.due = sent.monotonic + this.#interval;
    return lagMs;
  }

  /** A tenth of the interval later, doubled for each further failure; a whole one where asking again changes nothing. */
  failed(error: unknown, now: number): void {
    const eager = findLeaseError(error)?.retryable !== false;
    const delay = eager ? Math.min(this.#interval, (this.#interval / 10) * 2 ** this.#failures) : this.#interval;
    this.#failures += 1;
    this.due = now + delay * (0.5 + this.#random() / 2);
  }
}
