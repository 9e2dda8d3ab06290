import type {
  HoldEnd,
  LeaseErrorCode,
  LossReason,
  PreviousHold,
  ReleaseOutcome,
  ReleaseRequest,
} from "@leasehold/session-lease";
import type { DrainOutcome } from "./drain.js";
import type { RunLimit } from "./errors.js";

/** How an acquire ended: `granted`, the code of the error, or `error` for one that is not of the port. */
export type AcquireEnd = "granted" | LeaseErrorCode | "error";
/** How a run ended that had begun: its callback's own end, the loss of the lease under it, or being given up before that. */
export type RunEnd = "finished" | "failed" | "lost" | "abandoned";

/** For metrics: what happens, without saying to whom. Called synchronously; what it throws stops here. */
export interface RunObserver {
  acquireEnded?(end: AcquireEnd, ms: number): void;
  /** A run was refused because another one drives the session: in this process, or elsewhere. */
  refused?(where: "here" | "elsewhere"): void;
  /** A run that had to wait has waited enough: the session is its own, or it gave up. */
  waited?(end: "granted" | "given-up", ms: number): void;
  /** A grant says how the hold before it ended. */
  tookOver?(ended: HoldEnd): void;
  /** `lagMs`: from when the renewal was due until it was confirmed. */
  renewed?(lagMs: number): void;
  renewFailed?(code: LeaseErrorCode | "error"): void;
  /** No renewal was confirmed for two thirds of the ttl. */
  atRisk?(): void;
  doubted?(): void;
  lost?(reason: LossReason): void;
  /** A run of this process was asked to let go. */
  releaseRequested?(): void;
  /** The holder of a session in another process was asked to let go. */
  releaseAsked?(): void;
  /** A run was given up: told to end at a limit, it has not. */
  abandoned?(): void;
  /** A handle of `start()` was lost before it was ended. */
  dropped?(): void;
  /** A run failed because a store refused its token. */
  staleWriteRefused?(): void;
  /** `failed`: it could not be delivered, and the ttl decides. */
  released?(outcome: ReleaseOutcome | "failed"): void;
  runEnded?(end: RunEnd, ms: number): void;
}

/** `token` is undefined for a run without a lease whose store has seen none. */
type OfRun = Readonly<{ sessionId: string; runId: string; owner: string; token: bigint | undefined }>;

/** For the log: fixed names, one object each. */
export type RunLogEvent =
  | (OfRun & Readonly<{ event: "lease.acquired"; ms: number }>)
  /** The hold before ended in another way than by its release. */
  | (OfRun & Readonly<{ event: "lease.takeover"; previous: PreviousHold }>)
  /** No renewal was confirmed for two thirds of the ttl; `leftMs` until the end of validity. */
  | (OfRun & Readonly<{ event: "lease.at_risk"; leftMs: number }>)
  | (OfRun & Readonly<{ event: "lease.in_doubt" }>)
  | (OfRun & Readonly<{ event: "lease.lost"; reason: LossReason; error: unknown }>)
  | (OfRun & Readonly<{ event: "lease.release_requested"; request: ReleaseRequest }>)
  | (OfRun & Readonly<{ event: "lease.released"; outcome: ReleaseOutcome }>)
  | (OfRun & Readonly<{ event: "lease.release_failed"; error: unknown }>)
  /** The run was told to end at a limit, and has not: its lease is renewed no more. */
  | (OfRun & Readonly<{ event: "lease.abandoned" }>)
  | (OfRun & Readonly<{ event: "run.timed_out"; limit: RunLimit; ms: number }>)
  /** A handle of `start()` was lost before it was ended: the session stays held, until a limit ends the run. */
  | (OfRun & Readonly<{ event: "run.dropped" }>)
  /** Said once: from here on runs are not leased. */
  | Readonly<{ event: "lease.unsupported"; error: unknown }>
  /** `waiting` of them are told at once. */
  | Readonly<{ event: "drain.started"; runs: number; waiting: number; deadlineMs: number }>
  | (Readonly<{ event: "drain.finished" }> & DrainOutcome);
