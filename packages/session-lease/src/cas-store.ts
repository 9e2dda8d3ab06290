import type { CallContext, MaybePromise } from "./driver.js";
import type { LeaseCorruptError, LeaseIncompatibleError } from "./errors.js";
import type { LeaseRecord } from "./record.js";

/**
 * What a store has for one session. Nothing at all is an empty object or undefined. `stated`: the expiry as the holder wrote
 * it, for observers, where that of `record` is only this process's judgement of when it may call the hold dead.
 */
export type Loaded<V> =
  | Readonly<{ record: LeaseRecord; version: V; broken?: undefined; now?: number; stated?: number }>
  /** There is something, but it is not a record that this version can read. */
  | Readonly<{ record?: undefined; broken: LeaseCorruptError | LeaseIncompatibleError; version: V; now?: number }>
  /** Nothing. A store that leaves something behind after a deletion may give that a version. */
  | Readonly<{ record?: undefined; broken?: undefined; version?: V; now?: number }>
  | undefined;

/**
 * A compare-and-set: all that `casLease` needs to make a complete lease of a store.
 *
 * - `load` is strongly consistent: it shows every swap that was answered before it was called.
 * - A version never repeats for a session, not even after a deletion. Use the store's own etag, or token and a counter.
 * - `swap` that cannot tell whether it was applied throws `LeaseUnknownOutcomeError`; the loop looks again and finds out,
 *   because a late swap with an old version is refused. If it must *not* find out (what it would see there may not be
 *   trusted), it throws one with `retryable: false`. A swap must not be applied later than `forgetAfter` after it was sent:
 *   one that expects nothing would pass again once the record is forgotten.
 */
export interface CasStore<V> {
  /** `now` in the answer: the store's own clock, epoch ms, read in the same step; it then decides instead of the host's. */
  load(sessionId: string, context: CallContext): MaybePromise<Loaded<V>>;
  /**
   * Stores `next` (undefined: deletes) if the version is still `version` (undefined: nothing there); says whether it did.
   * A store that answers with the new version is tried without a load at the next renewal; only one whose `load` does
   * not bring a clock of its own, other than `clock`, may do so.
   */
  swap(
    sessionId: string,
    version: V | undefined,
    next: LeaseRecord | undefined,
    context: CallContext,
  ): MaybePromise<boolean | Readonly<{ version: V }>>;
  /**
   * What an acquire may suppose without asking, so that it can begin with its swap: an object without a record supposes that
   * there is none. Only a swap that succeeds counts; anything else makes the acquire load. Undefined: it loads at once.
   */
  presume?(sessionId: string, context: CallContext): MaybePromise<Loaded<V>>;
  /** Every record, in any order. With it the lease can list, and forget what other processes left. */
  scan?(context: CallContext): Iterable<Scanned> | AsyncIterable<Scanned>;
  /** Calls `onChange` soon after the session's record has changed, by any process; returns how to stop. */
  watch?(sessionId: string, onChange: () => void): () => void;
  /** How holders hear at once that they are asked to let go, where the store can tell every process. */
  readonly requests?: RequestBell | undefined;
  /** The identity of the store itself, made on first use and kept in it. */
  domain?(context: CallContext): MaybePromise<string>;
  /** Frees what the store holds in this process. Called once, after the last answer. */
  close?(): MaybePromise<void>;
}

/** Tells holders in every process to look. Only promptness depends on it. */
export interface RequestBell {
  /** Called after a request was stored; what it throws or rejects with is ignored. */
  ring(sessionId: string): MaybePromise<void>;
  /** Calls `onRequest` soon after every `ring`, by any process, until the function returned is called. Must not throw. */
  listen(onRequest: (sessionId: string) => void): () => void;
}

/** `now` and `stated`: as in the answer of `load`. */
export type Scanned = Readonly<{ sessionId: string; record: LeaseRecord; now?: number; stated?: number }>;
