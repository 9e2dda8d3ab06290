/**
 * One run at a time for each session: at most one in this process (a lock in memory), and at most one in the world (the
 * lease). Everything that happens to a run happens in this order, and its end in the reverse:
 *
 *     draining? -> lock -> above -> acquire -> callback ... settled -> release -> unlock
 *
 * The states of a run (`RunState`; those of its lease are in the catalogue of `@leasehold/keeper`):
 *
 * - **waiting**: another run has the session. Either in line for the lock of this process, or with that lock and another
 *   process's lease in the way (`outwait.ts`). Entered only with `onBusy` "wait" or "interrupt". Left when it is this run's
 *   turn; or refused, when `waitMs` is over, the run is cancelled or aborted, or this process drains.
 * - **starting**: has the lock; `above` and the first acquire are under way. Left with the lease, with a refusal, or to wait
 *   for the holder elsewhere.
 * - **running**: the callback is under way, and the lease is held, if there is one to hold.
 * - **in-doubt**: the same, but validity ended while this process was not looking. Nothing may be done; the authority is
 *   asked, and within five seconds the run is *running* again, or lost and *ending*.
 * - **ending**: the signal is aborted and the callback has not settled. Lock and lease stay, however long that takes, unless
 *   the lease is what was lost. The signal's reason says why: cancelled, asked to let go, out of time, draining, lost, or
 *   the caller's own. The first reason stays.
 * - **abandoned**: has not settled `abandonAfter` after it reached a limit. No longer renewed, so that the ttl frees the
 *   session for other processes. This process keeps its lock, for the callback is still here. `assertHeld` refuses.
 * - **releasing**: the callback has settled, so nothing writes any more; the lease is on its way back. Then the lock is
 *   passed on, and the run is over.
 *
 * Why it is right:
 *
 * - *Never two holders.* A callback begins with the lock and, if there is an authority, after it granted the lease; the lease
 *   is given back after the callback has settled, and the lock after that. Interrupting only asks: it aborts a signal here,
 *   or leaves a request elsewhere, and then waits like anybody else.
 * - *A late request cannot stop the next run.* Elsewhere it names the token just seen, which the authority compares; it is
 *   kept in that hold's record and goes with it. Here it is an abort of that very run.
 * - *No waiter is overtaken.* The line of a session is first in, first out, and the lock is passed on while it is kept, never
 *   put down (`session-locks.ts`). Only the first of a process competes for the lease with other processes, and between
 *   those the authority decides.
 * - *No waiter is forgotten.* Here, being called is having the lock. Elsewhere, each round asks for a report of changes
 *   before it tries, and expiry is reported too (`outwait.ts`).
 *
 * A callback that never settles keeps its session; `stats()` and `active()` show it. A lost lease is not given back, and the
 * lock is kept all the same until the callback has settled.
 */

import { randomUUID } from "node:crypto";
import { checkRenewal } from "@leasehold/keeper";
import { type Clock, DEFAULT_TTL, hostClock, LeaseInvalidError } from "@leasehold/session-lease";
import { Admission, type Wish } from "./admission.js";
import { askHolder, canAsk, REQUEST_REASON } from "./ask-holder.js";
import { beginWork, endWork, type RunCallback, type WorkSettings } from "./carry-out.js";
import { type DrainOutcome, drainRuns } from "./drain.js";
import { DrainError, RunCancelledError } from "./errors.js";
import { checkPrefix, defaultPrefix } from "./holder.js";
import type { RunLogEvent } from "./observer.js";
import { activeRuns, countRuns } from "./present-runs.js";
import { Reporter } from "./reporter.js";
import { LocalRun, type Run, type RunState } from "./run.js";
import { SessionLocks } from "./session-locks.js";
import {
  type ActiveRun,
  type CancelOptions,
  checkOptions,
  checkRunOptions,
  DEFAULT_ABANDON_AFTER,
  DEFAULT_WAIT,
  type RunOptions,
  type SessionRunsOptions,
} from "./session-runs-options.js";
import { sharedInstance } from "./shared.js";
import { Handles, type StartedRun } from "./started-run.js";
import type { RunStats } from "./tally.js";

/**
 * - `here`: a run of this process was told to end, or has ended and is giving the session back.
 * - `asked`: the holder in another process was asked to let go. It hears at once where the backend notifies, else with its
 *   next renewal, and may take its time.
 * - `none`: nobody holds the session, or not the run that is meant.
 */
export type CancelOutcome = "here" | "asked" | "none";

/** Throws `LeaseInvalidError` for options that cannot work. */
export class SessionRuns {
  readonly #options: SessionRunsOptions;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #reporter: Reporter;
  readonly #admission: Admission;
  readonly #locks = new SessionLocks<LocalRun>();
  readonly #handles: Handles<LocalRun>;
  #drain: Promise<DrainOutcome> | undefined;

  constructor(options: SessionRunsOptions = {}) {
    const { ttl = DEFAULT_TTL, renewEvery, owner = defaultPrefix(), clock = hostClock } = options;
    checkRenewal(ttl, renewEvery);
    checkPrefix(owner);
    checkOptions(options);
    this.#options = options;
    this.#prefix = owner;
    this.#clock = clock;
    this.#reporter = new Reporter(options.observer, options.log);
    this.#handles = new Handles(({ sessionId, runId, owner, token }) => {
      this.#reporter.observe((observer) => observer.dropped?.());
      this.#reporter.log({ event: "run.dropped", sessionId, runId, owner, token });
    });
    this.#admission = new Admission({
      options,
      prefix: owner,
      locks: this.#locks,
      clock,
      ttl,
      renewEvery,
      reclaimExpired: options.reclaimExpired ?? true,
      random: options.random ?? Math.random,
      reporter: this.#reporter,
      onAtRisk: options.onAtRisk,
    });
  }

  /**
   * The instance of this process that goes by `key`, made by `create` at the first call. The same one for every bundle and
   * after every hot reload: it is kept with the global object, under the version of this package's interface.
   */
  static shared(key: string, create: () => SessionRuns): SessionRuns {
    return sharedInstance(key, create);
  }

  /** False when nothing but this process's own lock keeps two runs of a session apart. */
  get exclusive(): boolean {
    return this.#admission.lease !== undefined;
  }

  get draining(): boolean {
    return this.#drain !== undefined;
  }

  /**
   * Runs `callback` as the one run of the session, and settles as it does, after the lease has been given back. Rejects
   *
   * - before the callback, with `SessionBusyError`, `SessionLeasedElsewhereError`, `DrainError`, `RunCancelledError`,
   *   `ReleaseRequestedError`, a `LeaseError` (fail closed: no authority, no run), or what `above` threw;
   * - with the callback's own error. If the release failed as well, its error is that error's `suppressed`;
   * - with `LeaseLostError` when the callback returned although the lease was lost under it, and with `RunTimedOutError` when
   *   it returned after the run had been given up.
   *
   * A release that fails after a callback that returned is no failure of the run: it is counted and logged, and the ttl
   * frees the session.
   */
  run<T>(sessionId: string, options: RunOptions, callback: (run: Run) => Promise<T> | T): Promise<T> {
    return this.#conduct(sessionId, options, callback);
  }

  /**
   * A run without a callback. Resolves when it has begun, and rejects as `run` does before its callback. It lasts until
   * `finish` or `fail`: whoever loses the handle before that keeps the session. `stats()` shows it, and a limit lets the ttl
   * free the session for other processes.
   */
  start(sessionId: string, options: RunOptions = {}): Promise<StartedRun> {
    return new Promise((resolve, reject) => {
      // Let go of once the handle is out: what is kept for the run must not keep the handle.
      let opening: { resolve: typeof resolve; reject: typeof reject } | undefined = { resolve, reject };
      const done: Promise<void> = this.#conduct(
        sessionId,
        options,
        (run) =>
          new Promise<void>((finish, fail) => {
            opening?.resolve(this.#handles.give(run, done, finish, fail));
            opening = undefined;
          }),
      );
      done.catch((error: unknown) => opening?.reject(error));
    });
  }

  /**
   * The stop button: tells the session's run to end, wherever it is. In this process its signal is aborted with
   * `RunCancelledError`; with a run id, a run that waits in line may be meant too. The holder in another process is asked, with
   * the token just seen, and aborts its signal with `ReleaseRequestedError`; also when a run of this process is only on its
   * way to the session, and is told as well. Rejects with the `LeaseError` of an authority
   * that cannot be asked: `unsupported` where that is for ever.
   */
  async cancel(sessionId: string, options: CancelOptions = {}): Promise<CancelOutcome> {
    const { runId, by = this.#prefix, reason = REQUEST_REASON.cancel, signal } = options;
    const here = this.#locks.holderOf(sessionId);
    const waits = here?.state === "waiting";
    const meant = runId === undefined ? (waits ? undefined : here) : this.#find(sessionId, runId);
    if (meant !== undefined && meant.state !== "releasing") meant.abort(new RunCancelledError());
    const outcome = meant === undefined ? "none" : "here";
    const { lease } = this.#admission;
    if (lease === undefined) return outcome;
    // Who has the session here is nobody's holder elsewhere. Who is on the way to its lease does not have it yet, and who has
    // outlived its hold does not have it any more.
    const onlyThatRun = meant !== undefined && runId !== undefined && !meant.hasOutlivedHold;
    if (here?.hasSession === true || onlyThatRun || (meant !== undefined && !canAsk(lease))) return outcome;
    const asked = await askHolder(lease, sessionId, { by, reason, runId, butNot: here?.token, signal });
    if (asked === undefined) return outcome;
    this.#reporter.observe((observer) => observer.releaseAsked?.());
    return "asked";
  }

  /**
   * Takes no new run from now on, and asks the authority for nothing but to keep and to free what is held. Runs that wait are
   * told at once. Runs may finish for `deadlineMs`, then their signals are aborted and they are joined and released for up to
   * five seconds more. What is left then is neither released nor given up: its lease lasts while this process does, and then
   * the ttl decides. The first call counts.
   */
  drain(deadlineMs: number): Promise<DrainOutcome> {
    if (!(deadlineMs >= 0)) throw new LeaseInvalidError(`the deadline must be 0 ms or more, not ${String(deadlineMs)}`);
    this.#drain ??= this.#drainOnce(deadlineMs).finally(() => this.#admission.stopWatching());
    return this.#drain;
  }

  async #drainOnce(deadlineMs: number): Promise<DrainOutcome> {
    // Whoever hears of the drain by an abort or in the log finds that it has begun.
    await Promise.resolve();
    const log = (event: RunLogEvent): void => this.#reporter.log(event);
    return await drainRuns(this.#locks, { deadlineMs, clock: this.#clock, log });
  }

  /** The runs of this process, those that wait included, in no particular order. */
  active(): readonly ActiveRun[] {
    return activeRuns(this.#locks, this.#clock.monotonic());
  }

  /** How far the run is that has the session's lock in this process: `waiting` means that the session is another process's. */
  stateOf(sessionId: string): RunState | undefined {
    return this.#locks.holderOf(sessionId)?.state;
  }

  stats(): RunStats {
    const now = countRuns(this.#locks, this.#clock.monotonic());
    return this.#reporter.tally.snapshot({ ...now, openHandles: this.#handles.open });
  }

  /** One small frame for the whole of a run: ten thousand of them wait at once, each for its callback. */
  async #conduct<T>(sessionId: string, options: RunOptions, callback: RunCallback<T, LocalRun>): Promise<T> {
    if (this.draining) throw new DrainError();
    checkRunOptions(options);
    const run = new LocalRun(sessionId, options.runId ?? randomUUID(), this.#clock);
    const unfollow = options.signal && follow(options.signal, (reason) => run.abort(reason));
    try {
      await this.#admit(run, options);
      const settings = this.#workSettings(options);
      const began = this.#clock.monotonic();
      let settled: PromiseSettledResult<T>;
      try {
        beginWork(run, settings);
        settled = { status: "fulfilled", value: await callback(run) };
      } catch (reason) {
        settled = { status: "rejected", reason };
      }
      return await endWork(run, settled, began, settings);
    } finally {
      unfollow?.();
      if (this.#locks.holderOf(sessionId) === run) this.#locks.unlock(sessionId);
      run.end();
    }
  }

  /** Resolves with the session's lock and lease. If it rejects, the lock may be the run's. */
  async #admit(run: LocalRun, { onBusy = "reject", waitMs = DEFAULT_WAIT, metadata }: RunOptions): Promise<void> {
    const wish: Wish = { onBusy, waitMs, metadata };
    const locked = this.#locks.take(run.sessionId, run);
    let end: "granted" | "given-up" = "given-up";
    try {
      if (!locked) await this.#admission.waitInLine(run, wish);
      await this.#admission.begin(run, wish);
      end = "granted";
    } finally {
      this.#tellWait(run, end);
    }
  }

  #workSettings(options: RunOptions): WorkSettings {
    const { maxHold = this.#options.maxHold, idleTimeout = this.#options.idleTimeout } = options;
    const { abandonAfter = DEFAULT_ABANDON_AFTER } = this.#options;
    return { maxHold, idleTimeout, abandonAfter, clock: this.#clock, reporter: this.#reporter };
  }

  #tellWait(run: LocalRun, end: "granted" | "given-up"): void {
    if (!run.hasWaited) return;
    const ms = this.#clock.monotonic() - run.startedAt.monotonic;
    this.#reporter.observe((observer) => observer.waited?.(end, ms));
  }

  #find(sessionId: string, runId: string): LocalRun | undefined {
    const here = this.#locks.holderOf(sessionId);
    if (here?.runId === runId) return here;
    return this.#locks.lineOf(sessionId).find((run) => run.runId === runId);
  }
}

/** Passes on an abort, past or to come, until the function returned is called. */
function follow(signal: AbortSignal, abort: (reason: unknown) => void): () => void {
  const forward = (): void => abort(signal.reason);
  if (signal.aborted) forward();
  signal.addEventListener("abort", forward, { once: true });
  return () => signal.removeEventListener("abort", forward);
}
