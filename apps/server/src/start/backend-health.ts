import { forwardLease, leaseErrorCode, type SessionLease } from "@leasehold/session-lease";

/** Codes that say nothing about a session, only that the backend could not be asked. */
const OUTAGE: ReadonlySet<string | undefined> = new Set(["unavailable", "unknown-outcome", "denied"]);

/** Whether the lease backend answered when it was last asked to grant or renew. */
export class BackendHealth {
  #answers = true;

  get answers(): boolean {
    return this.#answers;
  }

  /** The same lease, watched. */
  watch(lease: SessionLease): SessionLease {
    return forwardLease(lease, {
      acquire: (...args) => this.#note(lease.acquire(...args)),
      renew: (...args) => this.#note(lease.renew(...args)),
    });
  }

  async #note<T>(call: Promise<T>): Promise<T> {
    try {
      const answer = await call;
      this.#answers = true;
      return answer;
    } catch (error) {
      this.#answers = !OUTAGE.has(leaseErrorCode(error));
      throw error;
    }
  }
}
