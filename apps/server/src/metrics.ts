/** What the server counts, in Prometheus' words. Labels have few values, all known; no session, run or owner is in one. */

import type { HoldEnd, LossReason } from "@leasehold/session-lease";
import type { RunObserver } from "@leasehold/session-runs";
import type { SessionStore } from "@leasehold/session-store";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Outcome } from "./run/conduct-run.js";

const LOSSES: readonly LossReason[] = ["expired", "taken", "released", "forced", "deleted"];
const HOLD_ENDS: readonly HoldEnd[] = ["released", "expired", "dead", "forced", "transferred"];
const OUTCOMES: readonly Outcome[] = ["finished", "failed", "cancelled", "lost"];

const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const LONG = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];

/** What is read when it is asked for. */
export interface MetricSources {
  readonly store: SessionStore;
  readonly isDraining: () => boolean;
  readonly backendAnswers: () => boolean;
  readonly leasesHeld: () => number;
  readonly runsUnsettled: () => number;
}

export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #acquires = this.#counter("leasehold_acquires_total", "Acquires, by outcome.", "outcome");
  readonly #acquireTime = this.#histogram("leasehold_acquire_duration_seconds", "Time that acquires took.", QUICK);
  readonly #refusals = this.#counter(
    "leasehold_refusals_total",
    "Runs refused because the session is driven here or elsewhere.",
    "where",
  );
  readonly #takeovers = this.#counter(
    "leasehold_takeovers_total",
    "Grants after another hold, by its end.",
    "previous",
  );
  readonly #renewals = this.#counter("leasehold_renewals_total", "Confirmed renewals.");
  readonly #renewalFailures = this.#counter("leasehold_renewal_failures_total", "Failed renewals, by code.", "code");
  readonly #renewalLag = this.#histogram(
    "leasehold_renewal_lag_seconds",
    "From when a renewal was due until it was confirmed.",
    QUICK,
  );
  readonly #doubts = this.#counter("leasehold_doubts_total", "Times that a lease was in doubt.");
  readonly #losses = this.#counter("leasehold_losses_total", "Leases lost, by reason.", "reason");
  readonly #requests = this.#counter("leasehold_release_requests_total", "Requests to let go that reached a holder.");
  readonly #releases = this.#counter("leasehold_releases_total", "Releases, by outcome.", "outcome");
  readonly #runTime = this.#histogram("leasehold_run_duration_seconds", "Time that prompts took.", LONG, "outcome");

  /** For `SessionRuns`. */
  readonly observer: RunObserver = {
    acquireEnded: (end, ms) => {
      this.#acquires.inc({ outcome: end });
      this.#acquireTime.observe(ms / 1_000);
    },
    refused: (where) => this.#refusals.inc({ where }),
    tookOver: (previous) => this.#takeovers.inc({ previous }),
    renewed: (lagMs) => {
      this.#renewals.inc();
      this.#renewalLag.observe(lagMs / 1_000);
    },
    renewFailed: (code) => this.#renewalFailures.inc({ code }),
    doubted: () => this.#doubts.inc(),
    lost: (reason) => this.#losses.inc({ reason }),
    releaseRequested: () => this.#requests.inc(),
    released: (outcome) => this.#releases.inc({ outcome }),
  };

  constructor() {
    // A series that is 0 from the start can be alerted on before it first moves.
    for (const reason of LOSSES) this.#losses.inc({ reason }, 0);
    for (const previous of HOLD_ENDS) this.#takeovers.inc({ previous }, 0);
    for (const outcome of OUTCOMES) this.#runTime.zero({ outcome });
    for (const outcome of ["granted", "held"]) this.#acquires.inc({ outcome }, 0);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  runEnded(outcome: Outcome, ms: number): void {
    this.#runTime.observe({ outcome }, ms / 1_000);
  }

  /** Once, when the parts of the server exist. */
  readFrom({ store, isDraining, backendAnswers, leasesHeld, runsUnsettled }: MetricSources): void {
    this.#reading("leasehold_leases_held", "Leases held now.", leasesHeld);
    this.#reading("leasehold_runs_unsettled", "Runs told to end that have not ended.", runsUnsettled);
    this.#reading("leasehold_draining", "1 while the server drains.", () => Number(isDraining()));
    this.#reading("leasehold_backend_up", "1 if the backend answered when last asked.", () => Number(backendAnswers()));
    this.#total("leasehold_stale_writes_refused_total", "Writes refused for a token that is too low.", () => [
      [{}, store.stats().staleRefused],
    ]);
    this.#total(
      "leasehold_log_lines_ignored_total",
      "Lines of session logs that do not count, by kind.",
      () => Object.entries(store.stats().ignoredLines).map(([kind, count]) => [{ kind }, count]),
      "kind",
    );
  }

  #counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, buckets: number[], ...labelNames: string[]): Histogram {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.#registry] });
  }

  #reading(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** A total that somebody else counts. */
  #total(name: string, help: string, read: () => [Record<string, string>, number][], ...labelNames: string[]): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [labels, count] of read()) this.inc(labels, count);
      },
    });
  }
}
