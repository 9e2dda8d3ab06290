/** The names that logs and metrics go by, with what they mean: fixed, listed in the README, and the same for all who embed this. */

import type { RunLogEvent, RunObserver } from "./observer.js";

export const RUN_LOG_EVENTS: Readonly<Record<RunLogEvent["event"], string>> = {
  "lease.acquired": "A run has its lease.",
  "lease.takeover": "The hold before it ended in another way than by its release.",
  "lease.at_risk": "No renewal was confirmed for two thirds of the ttl.",
  "lease.in_doubt": "Validity ended while nobody was looking; the authority is being asked.",
  "lease.lost": "The lease is lost, with the reason.",
  "lease.release_requested": "The run was asked to let go.",
  "lease.released": "The lease was given back.",
  "lease.release_failed": "The lease could not be given back; the ttl frees the session.",
  "lease.abandoned": "The run was told to end at a limit and has not; its lease is renewed no more.",
  "lease.unsupported": "The backend cannot lease: from here on runs are not leased. Said once.",
  "run.timed_out": "The run has reached maxHold or idleTimeout.",
  "run.dropped": "A handle of start() was lost before it was ended.",
  "drain.started": "No run begins from here on.",
  "drain.finished": "The drain is over, with its counts.",
};

export type Metric = Readonly<{
  type: "counter" | "gauge" | "histogram";
  /** Durations are in seconds, as the name says. */
  help: string;
  labels: readonly string[];
  /** What feeds it: a method of the observer, or a field of `stats()`. */
  from: keyof RunObserver | `stats.${string}`;
}>;

/** Prometheus' conventions. No session, run or owner is ever a label. */
export const RUN_METRICS: Readonly<Record<`leasehold_${string}`, Metric>> = {
  leasehold_leases_held: gauge("Leases held now.", "stats.held"),
  leasehold_runs_waiting: gauge("Runs that wait for their session.", "stats.waiting"),
  leasehold_runs_unsettled: gauge("Runs told to end that have not ended.", "stats.unsettled"),
  leasehold_acquires_total: counter("Acquires, by outcome.", "acquireEnded", "outcome"),
  leasehold_acquire_duration_seconds: histogram("Time that acquires took.", "acquireEnded"),
  leasehold_refusals_total: counter(
    "Runs refused because the session is driven here or elsewhere.",
    "refused",
    "where",
  ),
  leasehold_wait_duration_seconds: histogram("Time that runs waited for their session.", "waited", "outcome"),
  leasehold_takeovers_total: counter("Grants after another hold, by its end.", "tookOver", "previous"),
  leasehold_renewals_total: counter("Confirmed renewals.", "renewed"),
  leasehold_renewal_failures_total: counter("Failed renewals, by code.", "renewFailed", "code"),
  leasehold_renewal_lag_seconds: histogram("From when a renewal was due until it was confirmed.", "renewed"),
  leasehold_at_risk_total: counter("Times that no renewal was confirmed for two thirds of the ttl.", "atRisk"),
  leasehold_doubts_total: counter("Times that a lease was in doubt.", "doubted"),
  leasehold_losses_total: counter("Leases lost, by reason.", "lost", "reason"),
  leasehold_release_requests_total: counter("Requests to let go that reached a run here.", "releaseRequested"),
  leasehold_releases_asked_total: counter("Requests to let go that were sent to other processes.", "releaseAsked"),
  leasehold_releases_total: counter("Releases, by outcome.", "released", "outcome"),
  leasehold_abandoned_total: counter("Runs given up because they did not end.", "abandoned"),
  leasehold_dropped_total: counter("Handles lost before they were ended.", "dropped"),
  leasehold_stale_writes_refused_total: counter(
    "Writes that a store refused for a token that is too low.",
    "staleWriteRefused",
  ),
  leasehold_run_duration_seconds: histogram("Time that runs took.", "runEnded", "outcome"),
};

type From = Metric["from"];

function gauge(help: string, from: From): Metric {
  return { type: "gauge", help, labels: [], from };
}

function counter(help: string, from: From, ...labels: string[]): Metric {
  return { type: "counter", help, labels, from };
}

function histogram(help: string, from: From, ...labels: string[]): Metric {
  return { type: "histogram", help, labels, from };
}
