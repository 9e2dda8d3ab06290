import type { HoldEnd, Lease, LeaseInfo, Metadata, PreviousHold, ProcessIdentity, ReleaseRequest } from "./lease.js";

/** 2^63-1: what a signed 64-bit column, and a Redis integer, still hold. */
export const MAX_TOKEN: bigint = 2n ** 63n - 1n;

/** How a record stands: its owner holds it (until expiry), gave it up, or had it broken by force. */
export type Standing = "held" | "released" | "forced";

/** What an authority keeps for one session. It outlives the hold, so that tokens grow and the next holder learns how this one ended. */
export type LeaseRecord = Readonly<{
  owner: string;
  token: bigint;
  /** Epoch ms, authority clock. Dead from this instant on. Release and force-release move it to the instant of their own, if that is earlier. */
  expiry: number;
  /** Ms. */
  ttl: number;
  /** Epoch ms, authority clock: when this token was granted. */
  acquiredAt: number;
  metadata: Metadata;
  standing: Standing;
  /** The hold before this one. */
  previous?: PreviousHold;
  releaseRequested?: ReleaseRequest;
  /** Who broke the hold, when `standing` is forced. */
  forced?: ReleaseRequest;
  /** The process whose life is the life of this lease, if it asked for that. */
  process?: ProcessIdentity;
  /** Minor version and unknown fields of a newer writer; they survive renew and transfer. */
  minor?: number;
  unknown?: Readonly<Record<string, unknown>>;
}>;

/** Live: held, and the clock is before expiry. At equality it is dead. */
export function isLive(record: LeaseRecord, now: number): boolean {
  return record.standing === "held" && now < record.expiry;
}

/** How the hold ended that a takeover now replaces. */
export function holdEnd(record: LeaseRecord, holderGone: boolean): HoldEnd {
  if (record.standing !== "held") return record.standing;
  return holderGone ? "dead" : "expired";
}

/**
 * A record may be forgotten when it is dead and the clock is past both its token and its expiry by `forgetAfter` ms:
 * from then on the clock alone makes the next token higher, even if it is stepped back by less than `forgetAfter`.
 */
export function isForgettable(record: LeaseRecord, now: number, forgetAfter: number): boolean {
  return !isLive(record, now) && forgettableAt(record, forgetAfter) <= now;
}

/** Epoch ms from which on a record may be forgotten if nothing happens to it; for a token far ahead of the clock, never in practice. */
export function forgettableAt(record: LeaseRecord, forgetAfter: number): number {
  return Math.max(record.expiry, Number(record.token)) + forgetAfter;
}

/** The same process, in every respect by which processes differ. */
export function isSameProcess(a: ProcessIdentity | undefined, b: ProcessIdentity | undefined): boolean {
  return (
    a !== undefined &&
    b !== undefined &&
    a.pid === b.pid &&
    a.startTime === b.startTime &&
    a.bootId === b.bootId &&
    a.pidNamespace === b.pidNamespace &&
    a.timeNamespace === b.timeNamespace
  );
}

/** The lease of a grant, as its holder gets it. */
export function leaseOf(sessionId: string, record: LeaseRecord): Lease {
  const { owner, token, expiry, ttl, previous, releaseRequested } = record;
  const lease = { sessionId, owner, token, expiry, ttl, ...(previous && { previous }) };
  return releaseRequested === undefined ? lease : { ...lease, releaseRequested };
}

/** The hold, as an observer sees it. */
export function leaseInfoOf(sessionId: string, record: LeaseRecord): LeaseInfo {
  const { previous: _past, ...lease } = leaseOf(sessionId, record);
  return { ...lease, acquiredAt: record.acquiredAt, metadata: { ...record.metadata } };
}
