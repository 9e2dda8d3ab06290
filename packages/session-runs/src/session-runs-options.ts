import type { Clock, Metadata, SessionLease } from "@leasehold/session-lease";
import type { RunLogEvent, RunObserver } from "./observer.js";
import type { RunState } from "./run.js";

export interface SessionRunsOptions {
  /** Absent: runs go on under the lock in this process alone, and `exclusive` is false. */
  readonly lease?: SessionLease | undefined;
  /** Ms, an integer from 10 to 86,400,000; 30,000 unless given. */
  readonly ttl?: number | undefined;
  /** Ms from 1 to ttl / 2; a third of the ttl unless given. */
  readonly renewEvery?: number | undefined;
  /** The highest token that the store has seen for a session: the run's own will be higher. */
  readonly above?: ((sessionId: string) => Promise<bigint | undefined> | bigint | undefined) | undefined;
  /** What every owner begins with, 1 to 231 bytes of UTF-8; host and pid unless given. */
  readonly owner?: string | undefined;
  /** Added to what the lease tells the operator (host, pid, version, runId, startedAt, and pod and node where known). */
  readonly metadata?: Metadata | undefined;
  /** The machine's, unless given. */
  readonly clock?: Clock | undefined;
  /** What to do when the backend cannot lease at all. `refuse` unless given. */
  readonly onUnsupported?: "refuse" | "disable" | undefined;
  /** Whether a run may go on with an expired lease that nobody had in between. True unless given. */
  readonly reclaimExpired?: boolean | undefined;
  readonly log?: ((event: RunLogEvent) => void) | undefined;
  readonly observer?: RunObserver | undefined;
  /** From 0 up to, not including, 1. */
  readonly random?: (() => number) | undefined;
}

export interface RunOptions {
  /** Aborting it aborts the run's signal with the same reason; while the lease is being acquired, `run` rejects with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Unique; a random UUID unless given. */
  readonly runId?: string | undefined;
  /** For this run's lease. */
  readonly metadata?: Metadata | undefined;
}

export type ActiveRun = Readonly<{
  sessionId: string;
  runId: string;
  token: bigint | undefined;
  state: RunState;
  /** Epoch ms. */
  startedAt: number;
  ageMs: number;
}>;
