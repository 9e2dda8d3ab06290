/**
 * What an adapter author writes when the store itself can say what a lease is, in one SQL statement or one script.
 * Authors of a plain compare-and-set start with `casLease` instead, which is a driver too.
 *
 * `createLease` stands in front of every driver and owns what is common: validation, defaults, closing, abort, deadlines,
 * the release that follows an abandoned acquire, and the shape of errors. A driver is promised valid, exact arguments, is
 * never called after close, and never for a power that its capabilities do not declare.
 */

import type { Capabilities } from "./capabilities.js";
import type { Clock } from "./clock.js";
import type { Lease, LeaseInfo, LeasePage, LeaseRef, Metadata, ReleaseOutcome } from "./lease.js";

/** A store that answers at once (memory) need not pay for a promise. */
export type MaybePromise<T> = T | Promise<T>;

export interface CallContext {
  /** Aborted when the caller or the deadline gave up: cut the request if it can be cut. Absent when neither can happen. */
  readonly signal?: AbortSignal | undefined;
}

/** What a driver is asked for: checked, with defaults filled in. Times are in ms, ranges those of the port's options. */
export type AcquireRequest = Readonly<{
  sessionId: string;
  owner: string;
  /** Ms. */
  ttl: number;
  metadata?: Metadata | undefined;
  above?: bigint | undefined;
  tiedToProcess: boolean;
}>;
export type RenewRequest = Readonly<{
  sessionId: string;
  owner: string;
  /** Absent: the owner alone is compared. */
  token?: bigint | undefined;
  /** Ms; absent: the record keeps its own. */
  ttl?: number | undefined;
  reclaimExpired: boolean;
}>;
export type TransferRequest = Readonly<{
  sessionId: string;
  owner: string;
  token?: bigint | undefined;
  newOwner: string;
  /** Ms; absent: the record keeps its own. */
  ttl?: number | undefined;
}>;
/** Force-release and request-release. Without `expectedToken` any live hold is meant. */
export type ReleaseNote = Readonly<{ sessionId: string; expectedToken?: bigint; by?: string; reason?: string }>;

/** Every method rejects, or throws, with a `LeaseError`; anything else is taken for an unknown outcome. */
export interface LeaseDriver {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** Ms; for acquire without a ttl of its own. */
  readonly ttl: number;
  readonly clock: Clock;
  /** Ms after which a call that has not answered is given up as of unknown outcome. Absent: the driver always answers. */
  readonly timeout?: number | undefined;
  /** One that ends in `unknown-outcome` is followed by `release` of its owner: the driver need not clean up. */
  acquire(request: AcquireRequest, context: CallContext): MaybePromise<Lease>;
  renew(request: RenewRequest, context: CallContext): MaybePromise<Lease>;
  release(ref: LeaseRef, context: CallContext): MaybePromise<ReleaseOutcome>;
  inspect?(sessionId: string, context: CallContext): MaybePromise<LeaseInfo | undefined>;
  list?(page: { after?: string; limit: number }, context: CallContext): MaybePromise<LeasePage>;
  transfer?(request: TransferRequest, context: CallContext): MaybePromise<Lease>;
  forceRelease?(note: ReleaseNote, context: CallContext): MaybePromise<boolean>;
  requestRelease?(note: ReleaseNote, context: CallContext): MaybePromise<boolean>;
  /** Optional even beside `requestRelease`; see the port's. Must not throw, and must not keep the program alive. */
  watchRequests?(onRequest: (sessionId: string) => void): () => void;
  /** Must watch from the moment of the call on, not from the moment some request of its own is answered. */
  waitForChange?(sessionId: string, signal: AbortSignal): Promise<void>;
  domain?(context: CallContext): MaybePromise<string>;
  close?(): MaybePromise<void>;
}
