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

/** What is sent, and who hears the answer: for a request, which is short, and not for the whole life of a keeper. */
export interface Renewal extends Omit<RenewOptions, "signal"> {
  readonly granted: (lease: Lease) => void;
  readonly refused: (error: unknown) => void;
}

/** The requests of one keeper. One at a time counts; those given up may still answer, and are not the current one then. */
export class Renewals {
  readonly #port: SessionLease;
  #current: Attempt | undefined;

  constructor(port: SessionLease) {
    this.#port = port;
  }

  /** The one that counts: sent, and neither answered nor given up. */
  get current(): Attempt | undefined {
    return this.#current;
  }

  /** The next one, which counts from here on; `send` sends it. */
  prepare(sent: Moment, deadline: number): Attempt {
    this.#current = { sent, deadline, cut: new AbortController(), answered: Promise.resolve() };
    return this.#current;
  }

  /** A port that throws has answered before this returns. */
  send(attempt: Attempt, ref: LeaseRef, renewal: Renewal): void {
    attempt.answered = this.#request(attempt, ref, renewal);
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

  async #request(attempt: Attempt, ref: LeaseRef, renewal: Renewal): Promise<void> {
    const { granted, refused, ...options } = renewal;
    let renewed: Lease;
    try {
      renewed = await this.#port.renew(ref, { ...options, signal: attempt.cut.signal });
    } catch (error) {
      refused(error);
      return;
    }
    granted(renewed);
  }
}
