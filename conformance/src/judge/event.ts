/**
 * What a history is made of: one event a line, in JSON. `docs/histories.md` shows each with an example.
 *
 * `at` is ms on the recorder's clock, which every event of a history shares: CLOCK_MONOTONIC for processes of one host, the
 * fake clock in a simulator. `wall` is what the authority's clock showed at the same event, where it can be read. Tokens
 * are decimal text on the line and `bigint` here.
 */

import type { HoldEnd, LossReason, PreviousHold } from "@leasehold/session-lease";

/** Which line of which file an event came from, and its text. */
export type Source = Readonly<{ file: string; line: number; text: string }>;

type At = Readonly<{ at: number; source: Source }>;
type During = At & Readonly<{ since?: number | undefined }>;

/** What is known about the whole history. Every field has a default; see `History`. */
export type MetaEvent = Readonly<{
  event: "meta";
  /** One sentence for the reader. */
  title?: string | undefined;
  /** Epoch ms of the authority's clock when `at` is 0, for events without `wall`. */
  epoch?: number | undefined;
  /** Ms by which an instant of the authority may lie outside of what was read around its call. */
  skew?: number | undefined;
  /** Ms: the adapter's own ttl, for calls that gave none. */
  ttl?: number | undefined;
  /** Ms: the authority rounds a ttl up to a multiple of this. */
  grain?: number | undefined;
  /** Ms after which the authority may forget a dead record; never, unless given. */
  forgetAfter?: number | undefined;
  /**
   * The adapter decides an acquire, a renewal or a release request anew when its store lost the reply, as `casLease` does: one
   * call may be applied several times before it answers.
   */
  retries?: boolean | undefined;
  /**
   * The authority has no clock: a hold ends once a rival has watched it in silence for its ttl. No one clock explains when, so
   * `not-linearizable` is not judged.
   */
  unclocked?: boolean | undefined;
  /**
   * Nobody but the calling process does what a call asks for, as with files on its own host: once that process has ended,
   * nothing of a call that it never saw the end of happens any more. Without it there may be a server that still does it.
   */
  local?: boolean | undefined;
  /**
   * Parts of an answer that this backend cannot tell; `retryAfterMs` of one that counts it later than it has looked at the
   * record, while that may change.
   */
  untold?: readonly Untold[] | undefined;
  /** Hand-written histories: the rules that it breaks. The judge does not read it; tests do. */
  breaks?: readonly string[] | undefined;
  source: Source;
}>;

export const UNTOLD = ["previous", "releaseRequested", "retryAfterMs"] as const;
export type Untold = (typeof UNTOLD)[number];

export const LEASE_OPS = [
  "acquire",
  "renew",
  "transfer",
  "release",
  "forceRelease",
  "requestRelease",
  "inspect",
] as const;
export type LeaseOp = (typeof LEASE_OPS)[number];

export const STORE_OPS = ["open", "append", "erase"] as const;
/** `open` raises the fence, `append` offers one entry, `erase` deletes the log of the session and keeps its fence. */
export type StoreOp = (typeof STORE_OPS)[number];

/** A process asks. `call` is unique in the history. */
export type InvokeEvent = At &
  Readonly<{
    event: "invoke";
    wall?: number | undefined;
    process: string;
    call: string;
    session: string;
    op: LeaseOp | StoreOp;
    /** Who acquires, renews, transfers or releases. */
    owner?: string | undefined;
    /** Of the hold that is renewed, transferred or released; the expected one of force-release and request-release; that of a write. */
    token?: bigint | undefined;
    /** Ms. */
    ttl?: number | undefined;
    above?: bigint | undefined;
    newOwner?: string | undefined;
    reclaimExpired?: boolean | undefined;
    by?: string | undefined;
    /** What the entry can be recognised by in the log. */
    write?: string | undefined;
  }>;

/** What the process was told. */
export type Answer =
  | Readonly<{
      answer: "granted";
      owner?: string | undefined;
      token: bigint;
      /** Epoch ms, authority clock. */
      expiry: number;
      /** Ms, as stored. */
      ttl: number;
      previous?: PreviousHold | undefined;
      releaseRequested?: boolean | undefined;
    }>
  | Readonly<{ answer: "held"; retryAfterMs?: number | undefined }>
  | Readonly<{ answer: "refused"; reason?: LossReason | undefined }>
  | Readonly<{ answer: "released" | "absent" | "other" }>
  | Readonly<{ answer: "done" | "nothing" }>
  | Readonly<{ answer: "free" }>
  | Readonly<{ answer: "seen"; owner: string; token: bigint; expiry: number }>
  | Readonly<{ answer: "accepted"; seq?: number | undefined }>
  | Readonly<{ answer: "stale" }>
  /** May have been applied, may yet be, or never. */
  | Readonly<{ answer: "unknown"; code?: string | undefined }>
  /** Certain to have had no effect. */
  | Readonly<{ answer: "error"; code?: string | undefined }>;

export type ReturnEvent = At & Readonly<{ event: "return"; wall?: number | undefined; call: string; answer: Answer }>;

/** The hold that a holder speaks of. */
type OfHold = At & Readonly<{ process: string; session: string; owner: string; token: bigint }>;
/** From `at` on the holder believes that it may act, until `until` if nothing else is said. */
export type BelieveEvent = OfHold & Readonly<{ event: "believe"; until: number }>;
/** From `at` on it does not. */
export type CeaseEvent = OfHold & Readonly<{ event: "cease" }>;

/** A process was ended from outside at some instant between `since` (or `at`) and `at`: it believes nothing from then on. */
export type KillEvent = During & Readonly<{ event: "kill"; process: string }>;
/** A process was stopped, or continued. Told for the reader. */
export type StopEvent = At & Readonly<{ event: "stop" | "continue"; process: string }>;

export const FAULTS = ["delete", "restore", "corrupt", "step"] as const;
/**
 * - `delete`: what was kept is gone: a record deleted by hand, a wiped directory, a flushed database.
 * - `restore`: an older copy came back, or the newest changes were lost. Also from a copy that had nothing.
 * - `corrupt`: what is kept makes no sense.
 * - `step`: the authority's clock was stepped by `by` ms.
 */
export type FaultKind = (typeof FAULTS)[number];
export type FaultEvent = During &
  Readonly<{
    event: "fault";
    fault: FaultKind;
    /** What it struck: the records of leases, or the logs of sessions. */
    of: "authority" | "store";
    /** Every session, unless given. */
    session?: string | undefined;
    /** Ms, of a step. */
    by?: number | undefined;
  }>;

export type LogEntry = Readonly<{ seq: number; token: bigint; write?: string | undefined }>;
/** What a reader found in the log of a session, whole and in order, when all was over. */
export type LogEvent = At & Readonly<{ event: "log"; session: string; entries: readonly LogEntry[] }>;

export type HistoryEvent =
  | InvokeEvent
  | ReturnEvent
  | BelieveEvent
  | CeaseEvent
  | KillEvent
  | StopEvent
  | FaultEvent
  | LogEvent;

export const LOSS_REASONS: readonly LossReason[] = ["expired", "taken", "released", "forced", "deleted"];
export const HOLD_ENDS: readonly HoldEnd[] = ["released", "expired", "dead", "forced", "transferred"];
