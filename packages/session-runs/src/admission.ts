/**
 * How a run comes to its session: through the lock of this process, behind those who came before it, and then through the
 * authority, past a holder in another process. See `session-runs.ts` for the whole of which this is the first part.
 */

import {
  type Clock,
  isLeaseHeld,
  LeaseAbortedError,
  type Metadata,
  type SessionLease,
  supports,
} from "@leasehold/session-lease";
import { acquireFresh, type Grant } from "./acquisition.js";
import { askHolder, canAsk, REQUEST_REASON } from "./ask-holder.js";
import { askStore } from "./ask-store.js";
import { asRefusal, RunError, retryHint, SessionBusyError } from "./errors.js";
import { type HoldSettings, holdLease, letGo } from "./hold.js";
import { describeHolder, freshOwner } from "./holder.js";
import { outwait } from "./outwait.js";
import { Patience } from "./patience.js";
import { codeOf } from "./reporter.js";
import type { LocalRun } from "./run.js";
import type { SessionLocks } from "./session-locks.js";
import { DEFAULT_MAX_WAITING, type OnBusy, type SessionRunsOptions } from "./session-runs-options.js";

/** What a run wants from its session. */
export type Wish = Readonly<{
  onBusy: OnBusy;
  /** From the begin of the run. */
  waitMs: number;
  metadata: Metadata | undefined;
}>;

export interface AdmissionSettings extends Omit<HoldSettings, "port"> {
  readonly options: SessionRunsOptions;
  readonly prefix: string;
  readonly locks: SessionLocks<LocalRun>;
}

export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #clock: Clock;
  readonly #locks: SessionLocks<LocalRun>;
  /** One for all runs, each of which keeps it. Undefined without an authority. */
  readonly #hold: HoldSettings | undefined;
  #everGranted = false;
  #unsupported = false;
  #stopWatching: (() => void) | undefined;

  constructor(settings: AdmissionSettings) {
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#locks = settings.locks;
    const { lease: port } = settings.options;
    this.#hold = port && { ...settings, port };
  }

  /** The authority; undefined where runs go on without one. */
  get lease(): SessionLease | undefined {
    return this.#unsupported ? undefined : this.#hold?.port;
  }

  /** Resolves with the session's lock in this process. Rejects without it. */
  async waitInLine(run: LocalRun, { onBusy, waitMs }: Wish): Promise<void> {
    const { sessionId, signal } = run;
    throwIfAborted(run);
    const left = this.#left(run, waitMs);
    const { maxWaiting = DEFAULT_MAX_WAITING } = this.#settings.options;
    if (onBusy === "reject" || left <= 0 || this.#locks.lineLength(sessionId) >= maxWaiting) {
      throw this.#refuse(sessionId);
    }
    if (onBusy === "interrupt") this.#interrupt(sessionId);
    run.wait();
    const patience = new Patience(this.#clock, left, signal);
    const turn = this.#locks.join(sessionId, run);
    const giveUp = (): void => void turn.leave(signal.aborted ? abortError(run) : this.#refuse(sessionId));
    patience.signal.addEventListener("abort", giveUp, { once: true });
    try {
      await turn.called;
      run.start();
    } finally {
      patience.end();
    }
  }

  /** Gets the lease for a run that has the lock. */
  async begin(run: LocalRun, wish: Wish): Promise<void> {
    throwIfAborted(run);
    try {
      await this.#try(run, wish, run.signal);
    } catch (error) {
      throwIfAborted(run);
      const left = this.#left(run, wish.waitMs);
      if (!isLeaseHeld(error)) throw error;
      if (wish.onBusy === "reject" || left <= 0) throw this.#refuseElsewhere(error);
      await this.#outwait(run, wish, left, error);
    }
  }

  async #outwait(run: LocalRun, wish: Wish, left: number, refusal: unknown): Promise<void> {
    const { options, random } = this.#settings;
    const { lease: port } = options;
    const { sessionId } = run;
    if (port === undefined) throw refusal;
    run.wait();
    run.refusal = refusal;
    const patience = new Patience(this.#clock, left, run.signal);
    let asked: bigint | undefined;
    const ask = async (signal: AbortSignal): Promise<void> => {
      asked = (await this.#askQuietly(port, sessionId, asked, signal)) ?? asked;
    };
    try {
      await outwait({
        port,
        sessionId,
        clock: this.#clock,
        random,
        patience,
        refusal,
        attempt: (signal) => this.#try(run, wish, signal),
        ask: wish.onBusy === "interrupt" && canAsk(port) ? ask : undefined,
      });
    } catch (error) {
      throwIfAborted(run);
      throw isLeaseHeld(error) ? this.#refuseElsewhere(error) : error;
    } finally {
      patience.end();
    }
  }

  /** One acquire. The run has begun when it resolves. */
  async #try(run: LocalRun, wish: Wish, signal: AbortSignal): Promise<void> {
    const { options, prefix, reporter, ttl } = this.#settings;
    const above = await askStore(options.above, run.sessionId, this.#clock, signal);
    throwIfAborted(run);
    if (this.#unsupported || this.#hold === undefined) return run.beginUnleased(freshOwner(prefix), above);
    const { port } = this.#hold;
    this.#watchRequests(port);
    const asked = this.#clock.monotonic();
    const ms = (): number => this.#clock.monotonic() - asked;
    let grant: Grant;
    try {
      grant = await acquireFresh(port, run.sessionId, prefix, this.#clock, {
        above,
        signal,
        ttl: port.capabilities.ttl ? ttl : undefined,
        metadata: {
          ...describeHolder(run.runId, run.startedAt.wall, options.advertiseUrl),
          ...options.metadata,
          ...wish.metadata,
        },
        tiedToProcess: true,
      });
    } catch (error) {
      reporter.observe((observer) => observer.acquireEnded?.(codeOf(error), ms()));
      if (!this.#mayDisable(error)) throw error;
      throwIfAborted(run);
      if (!this.#unsupported) reporter.log({ event: "lease.unsupported", error });
      this.#unsupported = true;
      return run.beginUnleased(freshOwner(prefix), above);
    }
    this.#everGranted = true;
    run.beginLeased(holdLease(run, grant, ms(), this.#hold));
  }

  /** One watch for all sessions that this process holds. Without it the answer to the next renewal tells. */
  #watchRequests(port: SessionLease): void {
    if (this.#stopWatching !== undefined || !supports(port, "requestRelease")) return;
    this.#stopWatching = port.watchRequests?.((sessionId) => this.#locks.holderOf(sessionId)?.look());
  }

  stopWatching(): void {
    this.#stopWatching?.();
  }

  /** Asks whoever drives the session now. Those in line ahead came first, and keep their turn. */
  #interrupt(sessionId: string): void {
    const { prefix, reporter } = this.#settings;
    const holder = this.#locks.holderOf(sessionId);
    const port = this.lease;
    if (holder?.state === "waiting") {
      if (port !== undefined && canAsk(port)) void this.#askQuietly(port, sessionId, undefined, undefined);
    } else if (holder?.state !== "releasing" && holder?.isAborted === false) {
      const at = Math.floor(this.#clock.wall());
      letGo(holder, { at, by: prefix, reason: REQUEST_REASON.interrupt }, reporter);
    }
  }

  /** What fails here is tried again in the next round, or makes the wait an ordinary one. */
  async #askQuietly(
    port: SessionLease,
    sessionId: string,
    butNot: bigint | undefined,
    signal: AbortSignal | undefined,
  ): Promise<bigint | undefined> {
    const { prefix, reporter } = this.#settings;
    try {
      const token = await askHolder(port, sessionId, {
        by: prefix,
        reason: REQUEST_REASON.interrupt,
        butNot,
        signal,
      });
      if (token !== undefined) reporter.observe((observer) => observer.releaseAsked?.());
      return token;
    } catch {
      return undefined;
    }
  }

  #left({ startedAt }: LocalRun, waitMs: number): number {
    return startedAt.monotonic + waitMs - this.#clock.monotonic();
  }

  /** The refusal of a session whose lock somebody here has, who may himself be waiting for a holder elsewhere. */
  #refuse(sessionId: string): unknown {
    const holder = this.#locks.holderOf(sessionId);
    if (holder?.state === "waiting") return this.#refuseElsewhere(holder.refusal);
    const { reporter, random } = this.#settings;
    reporter.observe((observer) => observer.refused?.("here"));
    const heldForMs = holder && Math.round(this.#clock.monotonic() - holder.startedAt.monotonic);
    return new SessionBusyError({ retryAfterMs: retryHint(random), heldForMs });
  }

  #refuseElsewhere(error: unknown): unknown {
    this.#settings.reporter.observe((observer) => observer.refused?.("elsewhere"));
    return asRefusal(error, this.#settings.random);
  }

  /** Only a backend that has never leased anything is taken at its word; later, `unsupported` is a failure like any other. */
  #mayDisable(error: unknown): boolean {
    return codeOf(error) === "unsupported" && this.#settings.options.onUnsupported === "disable" && !this.#everGranted;
  }
}

/** Throws why, if the run is not to begin. */
export function throwIfAborted(run: LocalRun): void {
  if (run.isAborted) throw abortError(run);
}

function abortError({ abortReason: reason, sessionId }: LocalRun): unknown {
  if (reason instanceof RunError) return reason;
  return new LeaseAbortedError("the run was aborted before it began", { cause: reason, sessionId });
}
