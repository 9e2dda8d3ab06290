/**
 * SessionLease in the memory of one process: the reference adapter, plain, correct and complete. It coordinates the
 * parts of one process and nothing beyond it.
 *
 * Look and set happen in one turn of the event loop: `load` and `swap` never wait, and `casLease` puts nothing between
 * them, so no other call can come in between. The clock is made never to step back, so a token is never lower than one
 * that was forgotten.
 */

import { randomUUID } from "node:crypto";
import {
  type Clock,
  casLease,
  DEFAULT_FORGET_AFTER,
  type FullSessionLease,
  hostClock,
  isForgettable,
  LeaseInvalidError,
  type LeaseRecord,
  LeaseUnavailableError,
  type Loaded,
  type RequestBell,
  type Scanned,
} from "@leasehold/session-lease";

const DEFAULT_CAPACITY = 1_000_000;

export interface MemLeaseOptions {
  /** Ms from 10 to 86,400,000; 30 s unless given. */
  readonly ttl?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Several leases over one store exclude each other. A new store unless given. */
  readonly store?: MemoryLeaseStore | undefined;
  /** Ms for which a dead record is kept; 60 s unless given. */
  readonly forgetAfter?: number | undefined;
  /** Records kept at most, dead ones included; 1,000,000 unless given. A full store refuses new sessions as `unavailable`. */
  readonly capacity?: number | undefined;
}

/** A lease in memory. Throws `LeaseInvalidError` for options that make no sense. */
export function memlease(options: MemLeaseOptions = {}): FullSessionLease {
  const {
    store = new MemoryLeaseStore(),
    clock = hostClock,
    capacity = DEFAULT_CAPACITY,
    forgetAfter = DEFAULT_FORGET_AFTER,
    ttl,
  } = options;
  if (!Number.isInteger(capacity) || capacity < 1) {
    throw new LeaseInvalidError(`capacity must be a whole number above 0, not ${String(capacity)}`);
  }
  const steady = store.steady(clock);
  return casLease<number>({
    name: "memlease",
    ttl,
    forgetAfter,
    clock: steady,
    load: (sessionId) => store.load(sessionId),
    swap: (sessionId, version, next) => {
      if (next !== undefined && version === undefined && store.size >= capacity) {
        store.makeRoom(capacity, Math.floor(steady.wall()), forgetAfter);
      }
      return store.swap(sessionId, version, next);
    },
    scan: () => store.scan(),
    watch: (sessionId, onChange) => store.watch(sessionId, onChange),
    requests: store.requests,
    domain: () => store.domain,
  });
}

type Kept = { readonly record: LeaseRecord; readonly version: number };

/**
 * The records that leases of one process share, as a compare-and-set whose steps never wait. Make one, hand it to every
 * `memlease` that is to exclude the others, and leave the rest to them.
 */
export class MemoryLeaseStore {
  /** A random UUID: what tells this store from every other. */
  readonly domain: string = randomUUID();
  readonly #records = new Map<string, Kept>();
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(sessionId: string) => void>();
  #lastVersion = 0;
  #latest = 0;

  /** Records kept, dead ones included. */
  get size(): number {
    return this.#records.size;
  }

  /** The same clock, but its wall time stands still rather than step back, for every lease of this store. */
  steady(clock: Clock): Clock {
    return {
      wall: () => {
        this.#latest = Math.max(this.#latest, clock.wall());
        return this.#latest;
      },
      monotonic: () => clock.monotonic(),
      schedule: (callback, delayMs, options) => clock.schedule(callback, delayMs, options),
    };
  }

  /** The session's record and its version. Versions are never given twice in one store. */
  load(sessionId: string): Loaded<number> {
    return this.#records.get(sessionId);
  }

  /** Stores `next` (undefined: deletes) if the version is still `version` (undefined: nothing there); says whether it did. */
  swap(sessionId: string, version: number | undefined, next: LeaseRecord | undefined): boolean {
    if (this.#records.get(sessionId)?.version !== version) return false;
    if (next === undefined) {
      this.#records.delete(sessionId);
    } else {
      this.#lastVersion += 1;
      this.#records.set(sessionId, { record: next, version: this.#lastVersion });
    }
    for (const onChange of this.#watchers.get(sessionId) ?? []) onChange();
    return true;
  }

  /**
   * Forgets what may be forgotten; never a live record, nor one whose token the clock has not safely passed. Times in ms.
   * Throws `LeaseUnavailableError` if that leaves no room below `capacity`.
   */
  makeRoom(capacity: number, now: number, forgetAfter: number): void {
    for (const [sessionId, { record }] of this.#records) {
      if (isForgettable(record, now, forgetAfter)) this.#records.delete(sessionId);
    }
    if (this.#records.size < capacity) return;
    throw new LeaseUnavailableError(
      `memlease is full: it keeps ${capacity} records and may forget none of them yet; give it a larger capacity`,
    );
  }

  /** Every record, in no particular order. */
  *scan(): Iterable<Scanned> {
    for (const [sessionId, { record }] of this.#records) yield { sessionId, record };
  }

  /** Rings within the call that asks. */
  readonly requests: RequestBell = {
    ring: (sessionId) => {
      for (const listener of [...this.#listeners]) listener(sessionId);
    },
    listen: (onRequest) => {
      // One function may be given twice; each has its own entry.
      const listener = (sessionId: string): void => onRequest(sessionId);
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };

  /** Calls `onChange` within every swap of the session's record, until the function returned is called. */
  watch(sessionId: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(sessionId) ?? new Set();
    this.#watchers.set(sessionId, watchers.add(onChange));
    return () => {
      watchers.delete(onChange);
      if (watchers.size === 0 && this.#watchers.get(sessionId) === watchers) this.#watchers.delete(sessionId);
    };
  }
}
