import {
  ALL_CAPABILITIES,
  type CasLeaseOptions,
  casLease,
  type FullSessionLease,
  type LeaseRecord,
} from "@leasehold/session-lease";
import { FakeClock, type Opened, type Subject } from "../src/index.js";

type Kept = { readonly record: LeaseRecord; readonly version: number };
const TTL = 30_000;
const FORGET_AFTER = 60_000;

/** What a mutant may differ in. */
export type Mutation = Readonly<{
  /** Replaces parts of the store. */
  store?: (options: CasLeaseOptions<number>, records: Map<string, Kept>) => Partial<CasLeaseOptions<number>>;
  /** Stands in front of the lease. */
  lease?: (inner: FullSessionLease, clock: FakeClock) => FullSessionLease;
  /** The same records for every lease opened. */
  shared?: Map<string, Kept>;
}>;

/** The smallest sound subject: `casLease` around a map. */
export function reference(name = "reference", mutation: Mutation = {}): Subject {
  return { name, inMemory: true, forgetAfter: FORGET_AFTER, open: () => open(mutation) };
}

function open(mutation: Mutation): Opened {
  const clock = new FakeClock();
  const records = mutation.shared ?? new Map<string, Kept>();
  const watchers = new Set<() => void>();
  const domain = `domain ${Math.random()}`;
  let version = 0;
  let stalled: Promise<void> | undefined;
  const plain: CasLeaseOptions<number> = {
    name: "reference",
    clock,
    ttl: TTL,
    forgetAfter: FORGET_AFTER,
    load: (id) => records.get(id),
    swap: (id, from, next) => {
      if (records.get(id)?.version !== from) return false;
      version += 1;
      if (next === undefined) records.delete(id);
      else records.set(id, { record: next, version });
      for (const wake of [...watchers]) wake();
      return stalled === undefined ? true : stalled.then(() => true);
    },
    scan: () => [...records].map(([sessionId, { record }]) => ({ sessionId, record })),
    watch: (_id, wake) => {
      watchers.add(wake);
      return () => watchers.delete(wake);
    },
    domain: () => domain,
  };
  const options = { ...plain, ...mutation.store?.(plain, records) };
  const lease = (): FullSessionLease => {
    const inner = casLease(options);
    return mutation.lease?.(inner, clock) ?? inner;
  };
  return {
    lease: lease(),
    reopen: lease,
    advance: (ms) => clock.advance(ms),
    now: () => clock.wall(),
    step: (ms) => clock.stepWall(ms),
    timers: () => clock.pending,
    store: options,
    stall: () => {
      const { promise, resolve } = withResolve();
      stalled = promise;
      return () => {
        stalled = undefined;
        resolve();
      };
    },
    oracle: {
      read: (id) => {
        const kept = records.get(id);
        return kept && JSON.stringify(kept.record, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
      },
      remove: (id) => records.delete(id),
      size: () => records.size,
    },
  };
}

function withResolve(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Every capability absent, and each refused as a lease that lacks it must. */
export const NOTHING_OPTIONAL = Object.fromEntries(
  Object.keys(ALL_CAPABILITIES).map((name) => [name, false]),
) as unknown as typeof ALL_CAPABILITIES;
