/** Two servers over one store in one test, on a clock that the test moves, with every request to the authority written down. */

import { FakeClock } from "@leasehold/conformance";
import { MemoryLeaseStore, memlease } from "@leasehold/memlease";
import { type Clock, type FullSessionLease, forwardLease } from "@leasehold/session-lease";
import { type Run, type RunLogEvent, SessionRuns, type SessionRunsOptions } from "../src/index.js";

export const TTL = 30_000;

export interface StageOptions {
  /** The authority's own timers run: those that report an expiry to a waiter. */
  readonly reportsExpiry?: boolean | undefined;
  /** Few turns of the event loop between two timers: enough for memory, and quick where there are very many. */
  readonly isQuick?: boolean | undefined;
}

export class Stage {
  readonly clock: FakeClock;
  readonly store: MemoryLeaseStore = new MemoryLeaseStore();
  /** The same time, without timers: those of the stage are then the servers' own. */
  readonly #time: Clock = {
    wall: () => this.clock.wall(),
    monotonic: () => this.clock.monotonic(),
    schedule: () => ({ cancel: () => undefined }),
  };
  readonly #backendTime: Clock;
  /** The authority itself, for what a test does behind the servers' backs. */
  readonly authority: FullSessionLease = memlease({ store: this.store, clock: this.#time, ttl: TTL });
  /** Acquires, renewals and releases in the order in which they were sent, by all servers. */
  readonly sent: string[] = [];
  /** Whatever else they sent. */
  readonly asked: string[] = [];
  readonly log: RunLogEvent[] = [];

  constructor({ reportsExpiry = false, isQuick = false }: StageOptions = {}) {
    this.clock = new FakeClock(isQuick ? { settle: () => new Promise((resolve) => setImmediate(resolve)) } : {});
    this.#backendTime = reportsExpiry ? this.clock : this.#time;
  }

  /** A server with a lease of its own; `faults` replaces operations of it. */
  server(options: SessionRunsOptions = {}, faults: Partial<FullSessionLease> = {}): SessionRuns {
    const backend = memlease({ store: this.store, clock: this.#backendTime, ttl: TTL });
    const lease = this.record(forwardLease(backend, faults));
    return new SessionRuns({
      lease,
      ttl: TTL,
      clock: this.clock,
      random: () => 0.5,
      log: (event) => void this.log.push(event),
      ...options,
    });
  }

  record(lease: FullSessionLease): FullSessionLease {
    return forwardLease(lease, {
      inspect: (sessionId, options) => {
        this.asked.push("inspect");
        return lease.inspect(sessionId, options);
      },
      requestRelease: (sessionId, options) => {
        this.asked.push("requestRelease");
        return lease.requestRelease(sessionId, options);
      },
      waitForChange: (sessionId, options) => {
        this.asked.push("waitForChange");
        return lease.waitForChange(sessionId, options);
      },
      watchRequests:
        lease.watchRequests &&
        ((onRequest) => {
          this.asked.push("watchRequests");
          return lease.watchRequests?.(onRequest) ?? (() => undefined);
        }),
      acquire: (sessionId, owner, options) => {
        this.sent.push("acquire");
        return lease.acquire(sessionId, owner, options);
      },
      renew: (ref, options) => {
        this.sent.push("renew");
        return lease.renew(ref, options);
      },
      release: (ref, options) => {
        this.sent.push("release");
        return lease.release(ref, options);
      },
    });
  }

  get events(): string[] {
    return this.log.map(({ event }) => event);
  }
}

export type Latch<T = void> = Readonly<{
  promise: Promise<T>;
  open: (value: T) => void;
  fail: (error: unknown) => void;
}>;

export function latch<T = void>(): Latch<T> {
  let open: (value: T) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

/** What a promise rejects with; fails the test if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  const settled = await Promise.allSettled([promise]);
  const [result] = settled;
  if (result?.status !== "rejected") throw new Error("it was expected to reject");
  return result.reason;
}

/** Resolves with the reason when the run is told to end. */
export function untilAborted({ signal }: Pick<Run, "signal">): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}
