/** Two servers over one store in one test, on a clock that the test moves, with every request to the authority written down. */

import { FakeClock } from "@leasehold/conformance";
import { MemoryLeaseStore, memlease } from "@leasehold/memlease";
import { type Clock, type FullSessionLease, forwardLease, type SessionLease } from "@leasehold/session-lease";
import { type RunLogEvent, SessionRuns, type SessionRunsOptions } from "../src/index.js";

export const TTL = 30_000;

export class Stage {
  readonly clock: FakeClock = new FakeClock();
  readonly store: MemoryLeaseStore = new MemoryLeaseStore();
  /** The same time, without timers: those of the stage are then the servers' own. */
  readonly #time: Clock = {
    wall: () => this.clock.wall(),
    monotonic: () => this.clock.monotonic(),
    schedule: () => ({ cancel: () => undefined }),
  };
  /** The authority itself, for what a test does behind the servers' backs. */
  readonly authority: FullSessionLease = memlease({ store: this.store, clock: this.#time, ttl: TTL });
  /** Operations in the order in which they were sent, by all servers. */
  readonly sent: string[] = [];
  readonly log: RunLogEvent[] = [];

  /** A server with a lease of its own; `faults` replaces operations of it. */
  server(options: SessionRunsOptions = {}, faults: Partial<FullSessionLease> = {}): SessionRuns {
    const lease = this.record(forwardLease(memlease({ store: this.store, clock: this.#time, ttl: TTL }), faults));
    return new SessionRuns({
      lease,
      ttl: TTL,
      clock: this.clock,
      random: () => 0.5,
      log: (event) => void this.log.push(event),
      ...options,
    });
  }

  record(lease: SessionLease): SessionLease {
    return forwardLease(lease, {
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
