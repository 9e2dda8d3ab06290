import type { Lease, LeaseRef, Moment, RenewOptions, SessionLease } from "@leasehold/session-lease";

/** A renewal that was sent. */
export type Attempt = {
  readonly sent: Moment;
  /** Monotonic ms by which it must have been answered. */
  readonly deadline: number;
  readonly cut: AbortController;
  /** Resolves when it has been; never rejects. */
  answered: Promise<void>;
};

export interface RenewalAnswers {
  granted(attempt: Attempt, lease: Lease): void;
  refused(attempt: Attempt, error: unknown): void;
}

/** The requests of one keeper. One at a time counts; those given up may still answer, and say that they are not the one. */
export class Renewals {
  readonly #port: SessionLease;
  readonly #answers: RenewalAnswers;
  #current: Attempt | undefined;

  constructor(port: SessionLease, answers: RenewalAnswers) {
    this.#port = port;
    this.#answers = answers;
  }

  /** The one that counts: sent, and neither answered nor given up. */
  get current(): Attempt | undefined {
    return this.#current;
  }

  /** The next one counts from here on; what is returned sends it. A port that throws has answered before that returns. */
  prepare(sent: Moment, deadline: number): (ref: LeaseRef, options: Omit<RenewOptions, "signal">) => void {
    const attempt: Attempt = { sent, deadline, cut: new AbortController(), answered: Promise.resolve() };
    this.#current = attempt;
    return (ref, options) => {
      attempt.answered = this.#request(attempt, ref, options);
    };
  }

  /** Its answer has come. */
  settled(): void {
    this.#current = undefined;
  }

  /** Asks the adapter to cut it. */
  giveUp(reason?: unknown): void {
    const attempt = this.#current;
    this.#current = undefined;
    attempt?.cut.abort(reason);
  }

  async #request(attempt: Attempt, ref: LeaseRef, options: RenewOptions): Promise<void> {
    let renewed: Lease;
    try {
      renewed = await this.#port.renew(ref, { ...options, signal: attempt.cut.signal });
    } catch (error) {
      this.#answers.refused(attempt, error);
      return;
    }
    this.#answers.granted(attempt, renewed);
  }
}
