import type { HoldEnd, LossReason } from "@leasehold/session-lease";
import type { AcquireEnd, RunEnd, RunObserver } from "./observer.js";

/** What has happened since the start, and what is going on now. */
export interface RunStats {
  /** Leases held now, those in doubt included. */
  readonly held: number;
  /** Runs that wait for their session: in line here, or for a holder elsewhere. */
  readonly waiting: number;
  /** Runs that are getting their lease now. */
  readonly starting: number;
  /** Runs whose signal is aborted and whose callback has not settled. They keep the lock and the lease. */
  readonly unsettled: number;
  /** Ms since the signal of the longest of these was aborted; 0 when there is none. */
  readonly longestUnsettledMs: number;
  /** Handles of `start()` that have not been ended. */
  readonly openHandles: number;
  readonly acquired: number;
  /** Runs refused because the session is driven elsewhere. */
  readonly refusedElsewhere: number;
  /** Runs refused because the session is driven here. */
  readonly refusedBusy: number;
  /** Acquires that failed, other than by contention. */
  readonly acquireFailures: number;
  readonly renewed: number;
  readonly renewFailures: number;
  /** Times that no renewal was confirmed for two thirds of the ttl. */
  readonly atRisk: number;
  /** Times that a lease was in doubt. */
  readonly inDoubt: number;
  readonly lost: Readonly<Record<LossReason, number>>;
  /** Grants that follow another hold, by how that one ended. */
  readonly takeovers: Readonly<Record<HoldEnd, number>>;
  /** Requests to let go that reached a run of this process. */
  readonly releaseRequests: number;
  /** Requests to let go that this process sent to others. */
  readonly releasesAsked: number;
  /** Runs given up: told to end at a limit, they did not. */
  readonly abandoned: number;
  /** Handles of `start()` that were lost before they were ended. */
  readonly dropped: number;
  /** Runs that failed because a store refused their token (an error of code `stale-token`). */
  readonly staleWritesRefused: number;
  readonly released: number;
  readonly releaseFailures: number;
  /** Ms from when a renewal was due until it was confirmed, the longest seen. */
  readonly longestRenewalLagMs: number;
  readonly runs: Readonly<Record<RunEnd, number>>;
}

type Now = Pick<RunStats, "held" | "waiting" | "starting" | "unsettled" | "longestUnsettledMs" | "openHandles">;

/** Counts what an observer is told. */
export class Tally implements RunObserver {
  readonly #counts = {
    acquired: 0,
    refusedElsewhere: 0,
    refusedBusy: 0,
    acquireFailures: 0,
    renewed: 0,
    renewFailures: 0,
    atRisk: 0,
    inDoubt: 0,
    releaseRequests: 0,
    releasesAsked: 0,
    abandoned: 0,
    dropped: 0,
    staleWritesRefused: 0,
    released: 0,
    releaseFailures: 0,
    longestRenewalLagMs: 0,
  };
  readonly #lost = { expired: 0, taken: 0, released: 0, forced: 0, deleted: 0 };
  readonly #takeovers = { released: 0, expired: 0, dead: 0, forced: 0, transferred: 0 };
  readonly #runs = { finished: 0, failed: 0, lost: 0, abandoned: 0 };

  snapshot(now: Now): RunStats {
    return {
      ...now,
      ...this.#counts,
      lost: { ...this.#lost },
      takeovers: { ...this.#takeovers },
      runs: { ...this.#runs },
    };
  }

  acquireEnded(end: AcquireEnd): void {
    if (end === "granted") this.#counts.acquired += 1;
    else if (end !== "held") this.#counts.acquireFailures += 1;
  }

  refused(where: "here" | "elsewhere"): void {
    this.#counts[where === "here" ? "refusedBusy" : "refusedElsewhere"] += 1;
  }

  tookOver(ended: HoldEnd): void {
    this.#takeovers[ended] += 1;
  }

  renewed(lagMs: number): void {
    this.#counts.renewed += 1;
    this.#counts.longestRenewalLagMs = Math.max(this.#counts.longestRenewalLagMs, lagMs);
  }

  renewFailed(): void {
    this.#counts.renewFailures += 1;
  }

  atRisk(): void {
    this.#counts.atRisk += 1;
  }

  doubted(): void {
    this.#counts.inDoubt += 1;
  }

  lost(reason: LossReason): void {
    this.#lost[reason] += 1;
  }

  releaseRequested(): void {
    this.#counts.releaseRequests += 1;
  }

  releaseAsked(): void {
    this.#counts.releasesAsked += 1;
  }

  abandoned(): void {
    this.#counts.abandoned += 1;
  }

  dropped(): void {
    this.#counts.dropped += 1;
  }

  staleWriteRefused(): void {
    this.#counts.staleWritesRefused += 1;
  }

  released(outcome: string): void {
    this.#counts[outcome === "failed" ? "releaseFailures" : "released"] += 1;
  }

  runEnded(end: RunEnd): void {
    this.#runs[end] += 1;
  }
}
