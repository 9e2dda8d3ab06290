/**
 * The port: what a process asks of whatever keeps its leases, and what it gets back.
 *
 * A lease gives one owner the right to drive one session until an instant on the *authority's* clock. The authority is
 * wherever the record lives: this process's memory, a directory, an API server, a database. How long the *holder* may
 * act on a lease is another question, answered on the holder's own clock; see `validity.ts`.
 *
 * Source: the seed document "SessionLease" (acquire, renew, release; a lease of four fields; tokens that grow), widened
 * by time to live, fencing floor, history of the hold before, and optional powers.
 */

import type { Capabilities } from "./capabilities.js";

/** String map that the operator sees. At most 64 entries, 8 KiB of UTF-8 keys and values together. */
export type Metadata = Readonly<Record<string, string>>;

/** How a hold came to its end. `dead`: an adapter proved that the holding process no longer exists. */
export type HoldEnd = "released" | "expired" | "dead" | "forced" | "transferred";

/** Why a holder is refused: the hold ran out, someone else has it, it was given up, broken by force, or the record is gone. */
export type LossReason = "expired" | "taken" | "released" | "forced" | "deleted";

/** The hold before a grant, and how it ended. */
export type PreviousHold = Readonly<{ owner: string; token: bigint; ended: HoldEnd }>;

/** Someone asked the holder to let go. It binds nobody; every takeover or release clears it. */
export type ReleaseRequest = Readonly<{
  /** Epoch ms, authority clock. */
  at: number;
  /** Who asks: 1 to 1,024 bytes of UTF-8, as the asker gave it; proved by nobody. */
  by?: string;
  /** Why: 1 to 1,024 bytes of UTF-8. */
  reason?: string;
}>;

/** A grant, or its renewal. An immutable value: renew returns a new one, and the newest is the one to renew and release. */
export type Lease = Readonly<{
  sessionId: string;
  owner: string;
  /** Fencing token, 1 to 2^63-1. Grows with every takeover of the session; never changes while a hold lasts. */
  token: bigint;
  /** Epoch ms on the authority's clock: the first instant at which the lease is dead. */
  expiry: number;
  /** Time to live in ms, 10 to 86,400,000, as the authority stored it. */
  ttl: number;
  /** How the hold before this grant ended; absent when there was none, or it has been forgotten. */
  previous?: PreviousHold;
  /** Present once somebody has asked this holder to let go. */
  releaseRequested?: ReleaseRequest;
}>;

/** What names a hold: a `Lease` is one. Without `token`, the owner alone is compared: for an attempt that never learnt its token. */
export type LeaseRef = Readonly<{ sessionId: string; owner: string; token?: bigint }>;

/** A live hold as an observer sees it: the present one; only its holder is told of the one before. */
export type LeaseInfo = Omit<Lease, "previous"> &
  Readonly<{
    /** Epoch ms, authority clock: when the present token was granted. */
    acquiredAt: number;
    /** As given at the acquire that began the hold, or replaced by its holder since; empty if none was. */
    metadata: Metadata;
    /** The authority has proved that the process this hold is tied to no longer exists: the next acquire takes the session at once. */
    holderGone?: true;
  }>;

/**
 * One process for the whole of its life, so that it can be told from every other one, on this host or elsewhere, now or
 * after a reboot. A pid alone never names a process.
 */
export type ProcessIdentity = Readonly<{
  /** In `pidNamespace`; 1 or more. */
  pid: number;
  /** Clock ticks between boot and the start of the process (field 22 of /proc/PID/stat), in decimal. */
  startTime: string;
  /** /proc/sys/kernel/random/boot_id: the boot in which those ticks are counted. */
  bootId: string;
  /** The link /proc/self/ns/pid: "pid:[4026531836]". */
  pidNamespace: string;
  /** The link /proc/self/ns/time; "none" on kernels that have no time namespaces. */
  timeNamespace: string;
}>;

export interface CallOptions {
  /** Aborting ends the call at once with `aborted`; a grant that arrives later is given back. */
  readonly signal?: AbortSignal | undefined;
}

export interface AcquireOptions extends CallOptions {
  /** Time to live in ms, an integer from 10 to 86,400,000; otherwise the adapter's own. */
  readonly ttl?: number | undefined;
  /** Shown to operators. Replaces the record's on a takeover, and on a live re-acquire if it is given. */
  readonly metadata?: Metadata | undefined;
  /** 0 to 2^63-1, above which no token is left (`invalid`). The token granted by a takeover will be higher than this: a store passes the highest it has seen. */
  readonly above?: bigint | undefined;
  /** The life of this process is the life of the lease: an authority on the same host may free it as soon as the process is gone. */
  readonly tiedToProcess?: boolean | undefined;
}

export interface RenewOptions extends CallOptions {
  /** Becomes the record's ttl; may be shorter. Otherwise the record keeps its own. */
  readonly ttl?: number | undefined;
  /** Revive an expired hold, if the authority can prove in the same atomic step that nothing was granted in between. */
  readonly reclaimExpired?: boolean | undefined;
}

/** `released`: freed now. `absent`: nothing was held. `other`: held by another owner or under another token, and untouched. */
export type ReleaseOutcome = "released" | "absent" | "other";

/** The core that every adapter has. Every method rejects with a `LeaseError`. */
export interface SessionLease {
  /** Name of the adapter for messages: "memlease". */
  readonly name: string;
  readonly capabilities: Capabilities;
  /** The right to drive `sessionId`, or `LeaseHeldError`. Idempotent for the same owner while the hold lives. */
  acquire(sessionId: string, owner: string, options?: AcquireOptions): Promise<Lease>;
  /** The same hold for another ttl: a new value, the same token. `LeaseHeldError` with a `reason` when it is lost. */
  renew(lease: LeaseRef, options?: RenewOptions): Promise<Lease>;
  /** Gives up this hold and no other, in one step at the authority. */
  release(lease: LeaseRef, options?: CallOptions): Promise<ReleaseOutcome>;
  /** Frees what the adapter holds in this process (not its leases). Later calls are refused as `closed`. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ListOptions extends CallOptions {
  /** Only sessions whose id comes after this one, by UTF-8 bytes. */
  readonly after?: string | undefined;
  /** Page size, 1 to 1,000; 100 unless given. */
  readonly limit?: number | undefined;
}

/** Live holds in order of the UTF-8 bytes of their session ids. `next` is what to pass as `after` for the page that follows. */
export type LeasePage = Readonly<{ leases: readonly LeaseInfo[]; next?: string }>;

export interface ForceReleaseOptions extends CallOptions {
  /** Only if the live hold has this token, compared at the authority. */
  readonly expectedToken?: bigint | undefined;
  /** Who does it: 1 to 1,024 bytes of UTF-8. Kept in the record. */
  readonly by?: string | undefined;
  /** Why: 1 to 1,024 bytes of UTF-8. Kept in the record. */
  readonly reason?: string | undefined;
}

/** The same as for `forceRelease`: which hold is meant, who asks, and why. The holder is shown `by` and `reason`. */
export type RequestReleaseOptions = ForceReleaseOptions;

/** Optional powers, one interface each; `capabilities` says which a lease has, `supports` narrows to them. */
export interface Powers {
  /** The live hold on a session, or undefined when it is free. Never blocks, never writes. */
  inspect: { inspect(sessionId: string, options?: CallOptions): Promise<LeaseInfo | undefined> };
  list: { list(options?: ListOptions): Promise<LeasePage> };
  /** Hands a live lease to a new owner in one atomic step: new token, full ttl, metadata kept. */
  transfer: {
    transfer(
      lease: LeaseRef,
      newOwner: string,
      options?: CallOptions & { readonly ttl?: number | undefined },
    ): Promise<Lease>;
  };
  /** Breaks a live hold or removes a corrupt record; true if it did. The token keeps growing. */
  forceRelease: { forceRelease(sessionId: string, options?: ForceReleaseOptions): Promise<boolean> };
  requestRelease: {
    /** Asks the holder to let go; true if there is a live hold (with the expected token) to ask. */
    requestRelease(sessionId: string, options?: RequestReleaseOptions): Promise<boolean>;
    /**
     * For holders: calls back soon after the holder of a session may have been asked to let go, whichever session, until
     * the function returned is called. One watch serves a process, however many sessions it holds. Only promptness depends
     * on it: a call may be for nothing, or fail to come, and the answer to the next renewal tells for certain. Absent
     * where the backend cannot notify.
     */
    watchRequests?: ((onRequest: (sessionId: string) => void) => () => void) | undefined;
  };
  /**
   * Resolves when the session's record may have changed *after the call was made*, or its hold ran out. Call first, try
   * second, await third, and no change can be missed.
   */
  waitForChange: { waitForChange(sessionId: string, options?: CallOptions): Promise<void> };
  /** A random id that lives in the backend itself: two leases with the same domain exclude each other. */
  domain: { domain(options?: CallOptions): Promise<string> };
}

/** A lease that offers every power; what `createLease` and `casLease` return. Undeclared powers reject with `unsupported`. */
export type FullSessionLease = SessionLease &
  Powers["inspect"] &
  Powers["list"] &
  Powers["transfer"] &
  Powers["forceRelease"] &
  Powers["requestRelease"] &
  Powers["waitForChange"] &
  Powers["domain"];
