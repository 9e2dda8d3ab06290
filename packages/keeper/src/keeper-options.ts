import {
  type Clock,
  type Lease,
  LeaseInvalidError,
  MAX_TTL,
  MIN_TTL,
  type Moment,
  type ReleaseRequest,
  type SessionLease,
} from "@leasehold/session-lease";
import type { LeaseLostError } from "./errors.js";

/**
 * What a keeper tells, each as a method of the object given. Hooks are called synchronously, at the moment it notices, and may
 * be called from within `assertHeld`. A hook that throws or rejects harms nothing but itself.
 */
export interface KeeperHooks {
  /** A renewal was confirmed. `lagMs`: from when it was due until it was confirmed. */
  onRenewed?(lease: Lease, validUntil: Moment, lagMs: number): void;
  /** One try failed or was not answered; the keeper goes on trying while the lease is valid. */
  onRenewFailed?(error: unknown): void;
  /**
   * Two thirds of the ttl have gone by since the last confirmed request was sent, and the keeper goes on trying. Once until
   * a renewal is confirmed. `leftMs`: until the end of validity.
   */
  onAtRisk?(leftMs: number): void;
  /** Stop acting at once. `onRenewed` or `onLost` follows within five seconds of running time. */
  onDoubt?(): void;
  /** At most once in the life of a keeper. */
  onLost?(error: LeaseLostError): void;
  /** Someone asks this holder to let go. At most once in the life of a keeper. */
  onReleaseRequested?(request: ReleaseRequest): void;
}

export interface KeeperOptions {
  readonly lease: SessionLease;
  /** What is to be kept. */
  readonly grant: Lease;
  /**
   * The moment just before the request for `grant` was sent. Without it the grant came from elsewhere (a wait, a transfer,
   * a queue), and the keeper begins in doubt: such a value proves nothing about how much of its ttl is left.
   */
  readonly requestedAt?: Moment | undefined;
  /** The machine's, unless given. */
  readonly clock?: Clock | undefined;
  /** Ms, an integer from 10 to 86,400,000, sent with every renewal; otherwise the record keeps its own. */
  readonly ttl?: number | undefined;
  /** Ms from 1 to ttl / 2; a third of the ttl unless given. */
  readonly renewEvery?: number | undefined;
  /** In doubt, revive an expired hold if the authority proves that nobody had it in between. False unless given. */
  readonly reclaimExpired?: boolean | undefined;
  /** From 0 up to, not including, 1; spreads renewals and retries. */
  readonly random?: (() => number) | undefined;
  readonly hooks?: KeeperHooks | undefined;
}

/** Throws `LeaseInvalidError` for a ttl or a renewal interval that cannot work. */
export function checkRenewal(ttl: number, renewEvery: number | undefined): void {
  if (!Number.isInteger(ttl) || ttl < MIN_TTL || ttl > MAX_TTL) {
    throw new LeaseInvalidError(
      `ttl must be a whole number of milliseconds from ${MIN_TTL} to ${MAX_TTL}, not ${String(ttl)}`,
    );
  }
  if (renewEvery === undefined) return;
  if (typeof renewEvery !== "number" || !(renewEvery >= 1 && renewEvery <= ttl / 2)) {
    throw new LeaseInvalidError(
      `renewEvery must be from 1 ms to half the ttl (${ttl / 2} ms), so that one failed renewal is not a loss; not ${String(renewEvery)}`,
    );
  }
}
