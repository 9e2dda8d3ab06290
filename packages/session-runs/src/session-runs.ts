/**
 * One run at a time for each session: at most one in this process (a lock in memory), and at most one in the world (the
 * lease). Everything that happens to a run happens in this order, and its end in the reverse:
 *
 *     draining? -> lock -> above -> acquire -> callback ... settled -> release -> unlock
 *
 * The lease is given back only after the callback has really settled, since what has not settled may still write. A
 * callback that never settles therefore keeps its session; `stats()` and `active()` show it. A lost lease is not given
 * back, and the lock is kept all the same until the callback has settled.
 *
 * What a run is in at any moment is the `RunState` of `run.ts`; what its lease is in, the catalogue of `@leasehold/keeper`.
 */

import { randomUUID } from "node:crypto";
import { checkRenewal } from "@leasehold/keeper";
import {
  type Clock,
  DEFAULT_TTL,
  hostClock,
  LeaseAbortedError,
  LeaseInvalidError,
  type Metadata,
  momentOf,
  type SessionLease,
} from "@leasehold/session-lease";
import { acquireFresh, type Grant } from "./acquisition.js";
import { type DrainOutcome, drainRuns } from "./drain.js";
import { asRefusal, DrainError, RunCancelledError, RunError, retryHint, SessionBusyError } from "./errors.js";
import { giveBack, type HoldSettings, holdLease } from "./hold.js";
import { checkPrefix, defaultPrefix, describeHolder, freshOwner } from "./holder.js";
import { codeOf, Reporter } from "./reporter.js";
import { LocalRun, type Run, type RunState } from "./run.js";
import type { ActiveRun, RunOptions, SessionRunsOptions } from "./session-runs-options.js";
import type { RunStats } from "./tally.js";

/** Throws `LeaseInvalidError` for options that cannot work. */
export class SessionRuns {
  readonly #lease: SessionLease | undefined;
  readonly #ttl: number;
  readonly #options: SessionRunsOptions;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #reporter: Reporter;
  readonly #holdSettings: Omit<HoldSettings, "port">;
  /** The lock: who has a session in this process. */
  readonly #runs = new Map<string, LocalRun>();
  #everGranted = false;
  #unsupported = false;
  #drain: Promise<DrainOutcome> | undefined;

  constructor(options: SessionRunsOptions = {}) {
    const { lease, ttl = DEFAULT_TTL, renewEvery, owner = defaultPrefix() } = options;
    checkRenewal(ttl, renewEvery);
    checkPrefix(owner);
    this.#options = options;
    this.#lease = lease;
    this.#ttl = ttl;
    this.#prefix = owner;
    this.#clock = options.clock ?? hostClock;
    this.#random = options.random ?? Math.random;
    this.#reporter = new Reporter(options.observer, options.log);
    this.#holdSettings = {
      clock: this.#clock,
      ttl,
      renewEvery,
      reclaimExpired: options.reclaimExpired ?? true,
      random: this.#random,
      reporter: this.#reporter,
    };
  }

  /** False when nothing but this process's own lock keeps two runs of a session apart. */
  get exclusive(): boolean {
    return this.#lease !== undefined && !this.#unsupported;
  }

  get draining(): boolean {
    return this.#drain !== undefined;
  }

  /**
   * Runs `callback` as the one run of the session, and settles as it does, after the lease has been given back. Rejects
   *
   * - before the callback, with `SessionBusyError`, `SessionLeasedElsewhereError`, `DrainError`, `RunCancelledError`, a
   *   `LeaseError` (fail closed: no authority, no run), or what `above` threw;
   * - with the callback's own error. If the release failed as well, its error is that error's `suppressed`;
   * - with `LeaseLostError` when the callback returned although the lease was lost under it.
   *
   * A release that fails after a callback that returned is no failure of the run: it is counted and logged, and the ttl
   * frees the session.
   */
  async run<T>(sessionId: string, options: RunOptions, callback: (run: Run) => Promise<T> | T): Promise<T> {
    if (this.draining) throw new DrainError();
    const other = this.#runs.get(sessionId);
    if (other !== undefined) throw this.#busy(other);
    const run = new LocalRun(sessionId, options.runId ?? randomUUID(), momentOf(this.#clock));
    this.#runs.set(sessionId, run);
    const { signal } = options;
    const unfollow = signal && follow(signal, (reason) => this.#abort(run, reason));
    try {
      await this.#begin(run, options.metadata);
      return await this.#carryOut(run, callback);
    } finally {
      unfollow?.();
      this.#runs.delete(sessionId);
      run.end();
    }
  }

  /** Aborts the run's signal with `RunCancelledError`. `none`: this process has no such run that could still be stopped. */
  cancel(sessionId: string, options: { readonly runId?: string | undefined } = {}): "here" | "none" {
    const run = this.#runs.get(sessionId);
    if (run === undefined || run.state === "releasing") return "none";
    if (options.runId !== undefined && options.runId !== run.runId) return "none";
    this.#abort(run, new RunCancelledError());
    return "here";
  }

  /**
   * Takes no new run from now on, and asks the authority for nothing but to keep and to free what is held. Runs may finish
   * for `deadlineMs`, then their signals are aborted and they are joined and released for up to five seconds more. What is
   * left then is neither released nor given up: its lease lasts while this process does, and then the ttl decides. The first
   * call counts.
   */
  drain(deadlineMs: number): Promise<DrainOutcome> {
    if (!(deadlineMs >= 0)) throw new LeaseInvalidError(`the deadline must be 0 ms or more, not ${String(deadlineMs)}`);
    this.#drain ??= drainRuns(this.#runs, {
      deadlineMs,
      clock: this.#clock,
      abort: (run) => this.#abort(run, new DrainError()),
      log: (event) => this.#reporter.log(event),
    });
    return this.#drain;
  }

  /** The runs of this process, in no particular order. */
  active(): readonly ActiveRun[] {
    const now = this.#clock.monotonic();
    return [...this.#runs.values()].map(({ sessionId, runId, token, state, startedAt }) => ({
      sessionId,
      runId,
      token,
      state,
      startedAt: startedAt.wall,
      ageMs: now - startedAt.monotonic,
    }));
  }

  /** Whether this process has a run of the session, and how far it is. */
  stateOf(sessionId: string): RunState | undefined {
    return this.#runs.get(sessionId)?.state;
  }

  stats(): RunStats {
    const now = this.#clock.monotonic();
    const counts = { held: 0, starting: 0, unsettled: 0, longestUnsettledMs: 0 };
    for (const { keeper, state, abortedAt = now } of this.#runs.values()) {
      if (keeper?.state === "held" || keeper?.state === "in-doubt") counts.held += 1;
      if (state === "starting") counts.starting += 1;
      if (state !== "ending") continue;
      counts.unsettled += 1;
      counts.longestUnsettledMs = Math.max(counts.longestUnsettledMs, now - abortedAt);
    }
    return this.#reporter.tally.snapshot(counts);
  }

  async #begin(run: LocalRun, metadata: Metadata | undefined): Promise<void> {
    const above = await this.#options.above?.(run.sessionId);
    throwIfAborted(run);
    const port = this.#lease;
    if (port === undefined || this.#unsupported) {
      run.beginUnleased(freshOwner(this.#prefix), above);
      return;
    }
    const asked = this.#clock.monotonic();
    const ms = (): number => this.#clock.monotonic() - asked;
    let grant: Grant;
    try {
      grant = await acquireFresh(port, run.sessionId, this.#prefix, this.#clock, {
        above,
        signal: run.signal,
        ttl: port.capabilities.ttl ? this.#ttl : undefined,
        metadata: { ...describeHolder(run.runId, run.startedAt.wall), ...this.#options.metadata, ...metadata },
        tiedToProcess: true,
      });
    } catch (error) {
      this.#reporter.observe((observer) => observer.acquireEnded?.(codeOf(error), ms()));
      throwIfAborted(run);
      if (!this.#mayDisable(error)) throw asRefusal(error, this.#random);
      if (!this.#unsupported) this.#reporter.log({ event: "lease.unsupported", error });
      this.#unsupported = true;
      run.beginUnleased(freshOwner(this.#prefix), above);
      return;
    }
    this.#everGranted = true;
    run.beginLeased(holdLease(run, grant, ms(), { ...this.#holdSettings, port }));
  }

  async #carryOut<T>(run: LocalRun, callback: (run: Run) => Promise<T> | T): Promise<T> {
    const began = this.#clock.monotonic();
    let settled: PromiseSettledResult<T>;
    try {
      // An abort that came between the grant and this moment.
      throwIfAborted(run);
      settled = { status: "fulfilled", value: await callback(run) };
    } catch (reason) {
      settled = { status: "rejected", reason };
    }
    const { keeper } = run;
    const heldToTheEnd = keeper?.isValid() ?? true;
    run.settle();
    const releaseError = keeper && (await giveBack(run, keeper, this.#reporter));
    const lost = heldToTheEnd ? undefined : run.loss;
    const end = lost !== undefined ? "lost" : settled.status === "fulfilled" ? "finished" : "failed";
    this.#reporter.observe((observer) => observer.runEnded?.(end, this.#clock.monotonic() - began));
    if (settled.status === "rejected") throw withSuppressed(settled.reason, releaseError);
    if (lost !== undefined) throw lost;
    return settled.value;
  }

  /** Only a backend that has never leased anything is taken at its word; later, `unsupported` is a failure like any other. */
  #mayDisable(error: unknown): boolean {
    return codeOf(error) === "unsupported" && this.#options.onUnsupported === "disable" && !this.#everGranted;
  }

  #abort(run: LocalRun, reason: unknown): void {
    run.abort(reason, this.#clock.monotonic());
  }

  #busy(other: LocalRun): SessionBusyError {
    this.#reporter.observe((observer) => observer.refusedBusy?.());
    const heldForMs = Math.round(this.#clock.monotonic() - other.startedAt.monotonic);
    return new SessionBusyError({ retryAfterMs: retryHint(this.#random), heldForMs });
  }
}

/** Passes on an abort, past or to come, until the function returned is called. */
function follow(signal: AbortSignal, abort: (reason: unknown) => void): () => void {
  const forward = (): void => abort(signal.reason);
  if (signal.aborted) forward();
  signal.addEventListener("abort", forward, { once: true });
  return () => signal.removeEventListener("abort", forward);
}

function throwIfAborted({ signal, sessionId }: LocalRun): void {
  if (!signal.aborted) return;
  const { reason } = signal;
  if (reason instanceof RunError) throw reason;
  throw new LeaseAbortedError("the run was aborted before it began", { cause: reason, sessionId });
}

/** The callback's error, with the release's own attached where something can be attached to it. */
function withSuppressed(error: unknown, releaseError: unknown): unknown {
  if (releaseError !== undefined && error instanceof Error && Object.isExtensible(error)) {
    Object.defineProperty(error, "suppressed", { value: releaseError, configurable: true, writable: true });
  }
  return error;
}
