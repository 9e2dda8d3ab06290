/**
 * A keeper's world, in which a test moves everything by hand: the holder's two clocks, true time (which is the authority's),
 * the network between them, and rivals. The authority is a real memlease, so what it answers is what the port means.
 */

import { type MemoryLeaseStore, memlease, MemoryLeaseStore as Store } from "@leasehold/memlease";
import {
  type AcquireOptions,
  ALL_CAPABILITIES,
  type Clock,
  type FullSessionLease,
  type Lease,
  LeaseAbortedError,
  type LeaseRef,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  type Moment,
  momentOf,
  type ReleaseOutcome,
  type RenewOptions,
  type SessionLease,
} from "@leasehold/session-lease";

export const T0 = 1_700_000_000_000;

type Entry = { readonly due: number; readonly order: number; readonly callback: () => void };

/** The holder's clocks. Timers run on monotonic time and may be made to run late. */
export class HolderClock implements Clock {
  /** What has really passed, in ms. */
  truth = 0;
  #stepped = 0;
  #slept = 0;
  #order = 0;
  readonly #timers = new Set<Entry>();

  wall(): number {
    return T0 + this.truth + this.#stepped;
  }

  monotonic(): number {
    return this.truth - this.#slept;
  }

  schedule(callback: () => void, delayMs: number): { cancel(): void } {
    this.#order += 1;
    const entry = { due: this.monotonic() + Math.max(0, delayMs), order: this.#order, callback };
    this.#timers.add(entry);
    return { cancel: () => void this.#timers.delete(entry) };
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Time passes, each timer on time. */
  async advance(ms: number): Promise<void> {
    await settle();
    const end = this.monotonic() + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.truth += Math.max(0, next.due - this.monotonic());
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.truth += Math.max(0, end - this.monotonic());
    await settle();
  }

  /** The process does not run: time passes, and timers stay due. */
  stall(ms: number): void {
    this.truth += ms;
  }

  /** The machine sleeps: the monotonic clock stands still. */
  suspend(ms: number): void {
    this.truth += ms;
    this.#slept += ms;
  }

  stepWall(ms: number): void {
    this.#stepped += ms;
  }

  #next(end: number): Entry | undefined {
    let first: Entry | undefined;
    for (const entry of this.#timers) {
      if (entry.due > end) continue;
      if (first === undefined || entry.due < first.due || (entry.due === first.due && entry.order < first.order)) {
        first = entry;
      }
    }
    return first;
  }
}

/** Lets promises settle; nothing here waits for anything but promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 24; turn += 1) await undefined;
}

/** A request on its way. */
export class Request {
  readonly operation: "acquire" | "renew" | "release";
  readonly options: RenewOptions & AcquireOptions;
  answered = false;
  readonly #perform: () => Promise<unknown>;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #applied: PromiseSettledResult<unknown> | undefined;

  constructor(
    operation: Request["operation"],
    options: RenewOptions,
    perform: () => Promise<unknown>,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.operation = operation;
    this.options = options;
    this.#perform = perform;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get applied(): boolean {
    return this.#applied !== undefined;
  }

  /** It reaches the authority. Again: a duplicate does, and its answer is heard by nobody. */
  async apply(): Promise<void> {
    const [result] = await Promise.allSettled([this.#perform()]);
    this.#applied ??= result;
  }

  /** What the authority said reaches the holder. */
  async reply(): Promise<void> {
    this.answered = true;
    if (this.#applied?.status === "fulfilled") this.#resolve(this.#applied.value);
    else if (this.#applied !== undefined) this.#reject(this.#applied.reason);
    await settle();
  }

  async answer(): Promise<void> {
    await this.apply();
    await this.reply();
  }

  async fail(error: unknown): Promise<void> {
    this.answered = true;
    this.#reject(error);
    await settle();
  }
}

/**
 * - `up`: applied and answered at once.
 * - `refused`: fails at once, and nothing has happened.
 * - `deaf`: applied at once, and the answer is lost: unknown outcome.
 * - `silent`: neither applied nor answered, until the test does it.
 */
export type Network = "up" | "refused" | "deaf" | "silent";

export class World {
  readonly clock: HolderClock = new HolderClock();
  readonly store: MemoryLeaseStore = new Store();
  readonly authority: FullSessionLease;
  /** What the holder talks to. */
  readonly port: SessionLease;
  readonly requests: Request[] = [];
  network: Network = "up";
  /** Whether an abandoned call rejects at once, as the port demands of adapters. */
  honoursAbort = true;
  /** Called when a request is sent. */
  onRequest: ((request: Request) => void) | undefined;

  constructor(ttl: number) {
    const authorityClock: Clock = {
      wall: () => T0 + this.clock.truth,
      monotonic: () => this.clock.truth,
      schedule: () => ({ cancel: () => undefined }),
    };
    this.authority = memlease({ clock: authorityClock, store: this.store, ttl });
    this.port = {
      name: "scripted",
      capabilities: ALL_CAPABILITIES,
      acquire: (sessionId: string, owner: string, options: AcquireOptions = {}) => {
        const { signal: _, ...rest } = options;
        return this.#send<Lease>("acquire", options, () => this.authority.acquire(sessionId, owner, rest));
      },
      renew: (ref: LeaseRef, options: RenewOptions = {}) => {
        const { signal: _, ...rest } = options;
        return this.#send<Lease>("renew", options, () => this.authority.renew(ref, rest));
      },
      release: (ref: LeaseRef, options = {}) =>
        this.#send<ReleaseOutcome>("release", options, () => this.authority.release(ref)),
      close: () => this.authority.close(),
      [Symbol.asyncDispose]: () => this.authority.close(),
    };
  }

  /** Straight from the authority, with the moment just before. */
  async grant(options: { ttl?: number; owner?: string } = {}): Promise<{ grant: Lease; requestedAt: Moment }> {
    const requestedAt = momentOf(this.clock);
    const { owner = "holder", ttl } = options;
    const grant = await this.authority.acquire("session", owner, ttl === undefined ? {} : { ttl });
    return { grant, requestedAt };
  }

  get last(): Request {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error("no request was sent");
    return last;
  }

  sent(operation: Request["operation"]): number {
    return this.requests.filter((request) => request.operation === operation).length;
  }

  #send<T>(operation: Request["operation"], options: RenewOptions, perform: () => Promise<unknown>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const request = new Request(operation, options, perform, resolve as (value: unknown) => void, reject);
      this.requests.push(request);
      this.onRequest?.(request);
      const onAbort = (): void => reject(new LeaseAbortedError(`${operation} was aborted`));
      if (this.honoursAbort) options.signal?.addEventListener("abort", onAbort, { once: true });
      void this.#carry(request);
    });
  }

  async #carry(request: Request): Promise<void> {
    if (this.network === "up") await request.answer();
    if (this.network === "refused") await request.fail(new LeaseUnavailableError("connection refused"));
    if (this.network === "deaf") {
      await request.apply();
      await request.fail(new LeaseUnknownOutcomeError("the connection was reset"));
    }
  }
}
