import { callHook, type Keeper, LeaseLostError } from "@leasehold/keeper";
import { type Clock, type Lease, type Moment, momentOf, type PreviousHold } from "@leasehold/session-lease";
import type { RunTimedOutError } from "./errors.js";
import type { RunLimits } from "./run-limits.js";

/** Something that acts for a run, and must stop when the run's validity does: a leashed process group is one. */
export interface Tether {
  /** The run may act until this instant on both local clocks; the earlier counts. Called at once, and after each confirmed renewal. */
  extend(validUntil: Moment): void;
  /** The run may not act now: in doubt (an extension may follow), lost, or over. */
  suspend(): void;
}

/** What the callback of a run gets. Its functions may be taken out of it: `({ signal, token, assertHeld }) => ...`. */
export interface Run {
  readonly sessionId: string;
  readonly runId: string;
  /** The lease's owner: a readable prefix and random bits, used for this run only. */
  readonly owner: string;
  /** Fencing token: goes with every write. Without a lease the highest that `above` knew, or undefined. */
  readonly token: bigint | undefined;
  /** The newest value; undefined without a lease. */
  readonly lease: Lease | undefined;
  /** How the hold before this one ended, where the authority knows: after anything but `released` its work may be half done. */
  readonly previous: PreviousHold | undefined;
  /**
   * Aborted when the run must end. The reason says why: `LeaseLostError` (write nothing any more), `RunCancelledError`,
   * `ReleaseRequestedError`, `RunTimedOutError`, `DrainError`, or that of the caller's own signal (the lease is still held:
   * write the last event).
   */
  readonly signal: AbortSignal;
  /** The end of validity as confirmed so far, on both local clocks; without a lease, beyond all time. */
  readonly validUntil: Moment;
  /** Arithmetic at the call: throws `LeaseInDoubtError` or `LeaseLostError` unless the run may act now. Call it before each act. */
  readonly assertHeld: () => void;
  /** Activity: `idleTimeout` counts from the last call. */
  readonly touch: () => void;
  /** Ties something to the run's validity. The function returned unties it; the end of the run suspends and unties the rest. */
  readonly tether: (tether: Tether) => () => void;
}

/** Where a run is. The catalogue at the head of `session-runs.ts` says how each is entered and left. */
export type RunState = "waiting" | "starting" | "running" | "in-doubt" | "ending" | "abandoned" | "releasing";

/** The end of validity where there is no lease that could end. An integer, so that it survives JSON. */
const NEVER: Moment = { wall: Number.MAX_SAFE_INTEGER, monotonic: Number.MAX_SAFE_INTEGER };

/** One run in this process, from its lock to its unlock. See `RunState`. */
export class LocalRun implements Run {
  readonly sessionId: string;
  readonly runId: string;
  readonly startedAt: Moment;
  /** Monotonic ms; undefined until the signal is aborted. */
  abortedAt: number | undefined;
  /** Epoch ms; undefined until a renewal is confirmed. */
  renewedAt: number | undefined;
  keeper: Keeper | undefined;
  loss: LeaseLostError | undefined;
  limits: RunLimits | undefined;
  /** The limit that was reached. */
  timeout: RunTimedOutError | undefined;
  /** What the authority said, while the run waits for a holder elsewhere. */
  refusal: unknown;
  readonly #clock: Clock;
  /** Made when somebody asks for the signal: it would be the largest part of a run that waits. */
  #aborter: AbortController | undefined;
  #abortReason: unknown;
  /** Made with the first: most runs have none. */
  #tethers: Set<Tether> | undefined;
  #phase: "waiting" | "starting" | "running" | "releasing" = "starting";
  #touchedAt: number | undefined;
  #hasWaited = false;
  #isAbandoned = false;
  /** Somebody rang for this session before its lease was here. */
  #mustLook = false;
  #owner = "";
  #token: bigint | undefined;
  #previous: PreviousHold | undefined;
  #assertHeld: (() => void) | undefined;
  #touch: (() => void) | undefined;
  #tether: ((tether: Tether) => () => void) | undefined;
  #over: Promise<void> | undefined;
  #end: (() => void) | undefined;

  constructor(sessionId: string, runId: string, clock: Clock) {
    this.sessionId = sessionId;
    this.runId = runId;
    this.#clock = clock;
    this.startedAt = momentOf(clock);
  }

  get state(): RunState {
    if (this.#phase !== "running") return this.#phase;
    if (this.#isAbandoned) return "abandoned";
    if (this.isAborted) return "ending";
    return this.keeper?.state === "in-doubt" ? "in-doubt" : "running";
  }

  get hasWaited(): boolean {
    return this.#hasWaited;
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Resolves when the session's lock in this process is free again. */
  get over(): Promise<void> {
    this.#over ??= new Promise((resolve) => {
      this.#end = resolve;
    });
    return this.#over;
  }

  /** The last activity, epoch ms; undefined before the callback began. */
  get touchedAt(): number | undefined {
    return this.#touchedAt;
  }

  /** The authority may have granted the session to somebody else while this run is still here. */
  get hasOutlivedHold(): boolean {
    return this.loss !== undefined || this.#isAbandoned;
  }

  /** From its begin until the session is given back, unless it outlives its hold. */
  get hasSession(): boolean {
    return (this.#phase === "running" || this.#phase === "releasing") && !this.hasOutlivedHold;
  }

  get owner(): string {
    return this.#owner;
  }

  get token(): bigint | undefined {
    return this.#token;
  }

  get lease(): Lease | undefined {
    return this.keeper?.lease;
  }

  get previous(): PreviousHold | undefined {
    return this.#previous;
  }

  get isAborted(): boolean {
    return this.abortedAt !== undefined;
  }

  /** Why it was aborted. */
  get abortReason(): unknown {
    return this.#abortReason;
  }

  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController();
      if (this.isAborted) this.#aborter.abort(this.#abortReason);
    }
    return this.#aborter.signal;
  }

  get validUntil(): Moment {
    return this.keeper?.validUntil ?? NEVER;
  }

  // Functions of their own, to be taken out of the run; made for those who do, since a process may hold ten thousand runs.
  get assertHeld(): () => void {
    this.#assertHeld ??= () => this.#assert();
    return this.#assertHeld;
  }

  get touch(): () => void {
    this.#touch ??= () => this.noteActivity();
    return this.#touch;
  }

  get tether(): (tether: Tether) => () => void {
    this.#tether ??= (tether) => this.#tie(tether);
    return this.#tether;
  }

  #assert(): void {
    this.keeper?.assertHeld();
    if (this.#phase === "running") return;
    throw new LeaseLostError("released", { sessionId: this.sessionId, message: "the run is over" });
  }

  noteActivity(): void {
    this.#touchedAt = this.#clock.wall();
    this.limits?.touch(this.#clock.monotonic());
  }

  #tie(tether: Tether): () => void {
    if (this.#phase === "running") {
      this.#tethers ??= new Set();
      this.#tethers.add(tether);
    }
    if (this.#phase === "running" && (this.keeper === undefined || this.keeper.isValid())) {
      callHook((end: Moment) => tether.extend(end), this.validUntil);
    } else {
      callHook(() => tether.suspend());
    }
    return () => void this.#tethers?.delete(tether);
  }

  /** In line here, or for a holder elsewhere. */
  wait(): void {
    this.#phase = "waiting";
    this.#hasWaited = true;
  }

  /** Has the lock of this process, and goes for the lease. */
  start(): void {
    this.#phase = "starting";
  }

  beginLeased(keeper: Keeper): void {
    const { owner, token, previous } = keeper.lease;
    this.keeper = keeper;
    this.#owner = owner;
    this.#token = token;
    this.#previous = previous;
    this.#begin();
    if (this.#mustLook) keeper.renewNow();
  }

  beginUnleased(owner: string, highest: bigint | undefined): void {
    this.#owner = owner;
    this.#token = highest;
    this.#begin();
  }

  /** Nobody but the admission, which is over, has seen the signal so far: the callback gets one of its own, if it asks. */
  #begin(): void {
    this.#phase = "running";
    this.#aborter = undefined;
  }

  extend(): void {
    for (const tether of this.#tethers ?? []) callHook((end: Moment) => tether.extend(end), this.validUntil);
  }

  suspend(): void {
    for (const tether of this.#tethers ?? []) callHook(() => tether.suspend());
  }

  /** Somebody may have asked for the session: the answer to a renewal tells. */
  look(): void {
    if (this.isAborted) return;
    this.#mustLook = true;
    this.keeper?.renewNow();
  }

  /** The first reason stays. False if there is one already. */
  abort(reason: unknown): boolean {
    if (this.isAborted) return false;
    this.abortedAt = this.#clock.monotonic();
    this.#abortReason = reason;
    this.#aborter?.abort(reason);
    return true;
  }

  /** Has been told to end, and does not: the ttl decides from here on, and nothing may act in its name. */
  abandon(): void {
    this.#isAbandoned = true;
    this.keeper?.abandon();
    this.suspend();
  }

  /** The callback has settled: nothing acts for the run from here on. */
  settle(): void {
    this.#phase = "releasing";
    this.limits?.stop();
    this.suspend();
    this.#tethers = undefined;
  }

  end(): void {
    if (this.#end === undefined) this.#over = Promise.resolve();
    else this.#end();
  }
}
