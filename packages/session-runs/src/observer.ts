import type {
  HoldEnd,
  LeaseErrorCode,
  LossReason,
  PreviousHold,
  ReleaseOutcome,
  ReleaseRequest,
} from "@leasehold/session-lease";

/** How an acquire ended: `granted`, the code of the error, or `error` for one that is not of the port. */
export type AcquireEnd = "granted" | LeaseErrorCode | "error";
/** How a run ended that had begun: its callback's own end, or the loss of the lease under it. */
export type RunEnd = "finished" | "failed" | "lost";

/** For metrics: what happens, without saying to whom. Called synchronously; what it throws stops here. */
export interface RunObserver {
  acquireEnded?(end: AcquireEnd, ms: number): void;
  /** A run was refused because another one in this process drives the session. */
  refusedBusy?(): void;
  /** A grant says how the hold before it ended. */
  tookOver?(ended: HoldEnd): void;
  /** `lagMs`: from when the renewal was due until it was confirmed. */
  renewed?(lagMs: number): void;
  renewFailed?(code: LeaseErrorCode | "error"): void;
  doubted?(): void;
  lost?(reason: LossReason): void;
  releaseRequested?(): void;
  /** `failed`: it could not be delivered, and the ttl decides. */
  released?(outcome: ReleaseOutcome | "failed"): void;
  runEnded?(end: RunEnd, ms: number): void;
}

type OfRun = Readonly<{ sessionId: string; runId: string; owner: string; token: bigint }>;

/** For the log: fixed names, one object each. */
export type RunLogEvent =
  | (OfRun & Readonly<{ event: "lease.acquired"; ms: number }>)
  /** The hold before ended in another way than by its release. */
  | (OfRun & Readonly<{ event: "lease.takeover"; previous: PreviousHold }>)
  | (OfRun & Readonly<{ event: "lease.in_doubt" }>)
  | (OfRun & Readonly<{ event: "lease.lost"; reason: LossReason; error: unknown }>)
  | (OfRun & Readonly<{ event: "lease.release_requested"; request: ReleaseRequest }>)
  | (OfRun & Readonly<{ event: "lease.released"; outcome: ReleaseOutcome }>)
  | (OfRun & Readonly<{ event: "lease.release_failed"; error: unknown }>)
  /** Said once: from here on runs are not leased. */
  | Readonly<{ event: "lease.unsupported"; error: unknown }>
  | Readonly<{ event: "drain.started"; runs: number; deadlineMs: number }>
  | Readonly<{ event: "drain.finished"; finished: number; aborted: number; left: number; ms: number }>;
