import { type Clock, LeaseInvalidError, type Metadata, type SessionLease } from "@leasehold/session-lease";
import type { Above } from "./ask-store.js";
import type { RunLogEvent, RunObserver } from "./observer.js";
import type { RunState } from "./run.js";

/** Ms for which a run waits for its session, unless it says otherwise. */
export const DEFAULT_WAIT = 30_000;
/** Ms from a limit until a run that has not ended is given up. */
export const DEFAULT_ABANDON_AFTER = 30_000;
/** Runs that may stand in line for one session. */
export const DEFAULT_MAX_WAITING = 1_000;
/** Ms: 365 days. */
const LONGEST = 31_536_000_000;

export interface RunLimitOptions {
  /** Ms that a run may last from the moment when its callback begins, up to 365 days; no limit unless given. */
  readonly maxHold?: number | undefined;
  /** Ms that a run may last without a call of its `touch`, up to 365 days; no limit unless given. */
  readonly idleTimeout?: number | undefined;
}

export interface SessionRunsOptions extends RunLimitOptions {
  /** Absent: runs go on under the lock in this process alone, and `exclusive` is false. */
  readonly lease?: SessionLease | undefined;
  /** Ms, an integer from 10 to 86,400,000; 30,000 unless given. */
  readonly ttl?: number | undefined;
  /** Ms from 1 to ttl / 2; a third of the ttl unless given. */
  readonly renewEvery?: number | undefined;
  /**
   * The highest token that the store has seen for a session: the run's own will be higher. Asked before each acquire. One that
   * has not answered after 10 s is given up: the run is refused with `unavailable`.
   */
  readonly above?: Above | undefined;
  /** Ms from a limit to the end of renewal, for a run that does not end; up to 365 days, 30,000 unless given. */
  readonly abandonAfter?: number | undefined;
  /** Runs that may stand in line for one session in this process, 0 or more; 1,000 unless given. One more is refused as busy. */
  readonly maxWaiting?: number | undefined;
  /** What every owner begins with, 1 to 231 bytes of UTF-8; host and pid unless given. */
  readonly owner?: string | undefined;
  /** Added to what the lease tells the operator (host, pid, version, runId, startedAt, and pod and node where known). */
  readonly metadata?: Metadata | undefined;
  /** Where this process can be reached: told to the operator as well, as `advertiseUrl`. */
  readonly advertiseUrl?: string | undefined;
  /** The machine's, unless given. */
  readonly clock?: Clock | undefined;
  /** What to do when the backend cannot lease at all. `refuse` unless given. */
  readonly onUnsupported?: "refuse" | "disable" | undefined;
  /** Whether a run may go on with an expired lease that nobody had in between. True unless given. */
  readonly reclaimExpired?: boolean | undefined;
  /** No renewal was confirmed for two thirds of the ttl. Once, until one is. */
  readonly onAtRisk?: ((risk: LeaseAtRisk) => void) | undefined;
  readonly log?: ((event: RunLogEvent) => void) | undefined;
  readonly observer?: RunObserver | undefined;
  /** From 0 up to, not including, 1. */
  readonly random?: (() => number) | undefined;
}

export type LeaseAtRisk = Readonly<{
  sessionId: string;
  runId: string;
  owner: string;
  token: bigint;
  /** Ms until the end of validity. */
  leftMs: number;
}>;

/**
 * What the second request for a session gets, whether the holder is in this process or another:
 *
 * - `reject`: the answer that it is busy, at once.
 * - `wait`: its turn, first come first served within this process, for at most `waitMs`.
 * - `interrupt`: the same, after the holder has been asked to let go. Nothing is taken from a holder that does not.
 */
export type OnBusy = "reject" | "wait" | "interrupt";

export interface RunOptions extends RunLimitOptions {
  /** `reject` unless given. */
  readonly onBusy?: OnBusy | undefined;
  /**
   * Ms to wait for the session, from the call on, 0 to 86,400,000; 30,000 unless given. Then the run is refused as busy. The
   * first question to the store and to the authority is no wait: it has time limits of its own.
   */
  readonly waitMs?: number | undefined;
  /** Aborting it aborts the run's signal with the same reason; before the callback begins, `run` rejects with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Unique; a random UUID unless given. */
  readonly runId?: string | undefined;
  /** For this run's lease. */
  readonly metadata?: Metadata | undefined;
}

export interface CancelOptions {
  /** Only this run; otherwise whichever drives the session now. */
  readonly runId?: string | undefined;
  /** Who asks, for a holder in another process; the owner prefix unless given. 1 to 1,024 bytes of UTF-8. */
  readonly by?: string | undefined;
  /** Why, for a holder in another process; `cancelled` unless given. 1 to 1,024 bytes of UTF-8. */
  readonly reason?: string | undefined;
  /** Ends the question to the authority. */
  readonly signal?: AbortSignal | undefined;
}

export type ActiveRun = Readonly<{
  sessionId: string;
  runId: string;
  token: bigint | undefined;
  state: RunState;
  /** Epoch ms. */
  startedAt: number;
  ageMs: number;
  /** Epoch ms of the last `touch`, or of the begin of the callback; undefined before that. */
  touchedAt: number | undefined;
  /** Epoch ms of the last confirmed renewal. */
  renewedAt: number | undefined;
}>;

/** Throws `LeaseInvalidError`. */
export function checkLimits({ maxHold, idleTimeout }: RunLimitOptions): void {
  checkMs("maxHold", maxHold, 1, LONGEST);
  checkMs("idleTimeout", idleTimeout, 1, LONGEST);
}

/** Throws `LeaseInvalidError` for options that cannot work, but for what the lease itself checks. */
export function checkOptions(options: SessionRunsOptions): void {
  const { abandonAfter, maxWaiting } = options;
  checkLimits(options);
  checkMs("abandonAfter", abandonAfter, 0, LONGEST);
  if (maxWaiting !== undefined && !(Number.isInteger(maxWaiting) && maxWaiting >= 0)) {
    throw new LeaseInvalidError(`maxWaiting must be a whole number, 0 or more, not ${String(maxWaiting)}`);
  }
}

/** Throws `LeaseInvalidError`. */
export function checkRunOptions(options: RunOptions): void {
  const { onBusy, waitMs } = options;
  if (onBusy !== undefined && onBusy !== "reject" && onBusy !== "wait" && onBusy !== "interrupt") {
    throw new LeaseInvalidError(`onBusy must be "reject", "wait" or "interrupt", not ${JSON.stringify(onBusy)}`);
  }
  checkMs("waitMs", waitMs, 0, 86_400_000);
  checkLimits(options);
}

function checkMs(name: string, value: unknown, least: number, most: number): void {
  if (value === undefined || (typeof value === "number" && value >= least && value <= most)) return;
  throw new LeaseInvalidError(`${name} must be from ${least} to ${most} ms, not ${String(value)}`);
}
