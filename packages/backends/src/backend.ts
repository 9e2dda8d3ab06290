import type { Clock, SessionLease } from "@leasehold/session-lease";

/** What every backend takes; absent: the adapter's own default. */
export interface BackendOptions {
  /** Time to live in ms, an integer from 10 to 86,400,000. */
  readonly ttl?: number | undefined;
  /** Ms for which a dead record is kept. */
  readonly forgetAfter?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** One kind of place to keep leases in. */
export interface Backend {
  /** The scheme of its URLs, without the colon. */
  readonly scheme: string;
  /** A URL that a reader can copy and change. */
  readonly example: string;
  /**
   * Loads the adapter, and no other, and opens a lease. `place` is what follows the colon. Rejects with
   * `BackendUsageError` for a place that cannot be meant, and with a `LeaseError` from the adapter.
   */
  open(place: string, options: BackendOptions): Promise<SessionLease>;
}
