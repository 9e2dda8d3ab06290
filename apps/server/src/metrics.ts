/** What the server counts, in Prometheus' words. Labels have few values, all known; no session, run or owner is in one. */

import type { HoldEnd, LossReason } from "@leasehold/session-lease";
import { RUN_METRICS, type RunObserver, type RunStats } from "@leasehold/session-runs";
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
  readonly store: Pick<SessionStore, "stats">;
  readonly runStats: () => RunStats;
  readonly isDraining: () => boolean;
  readonly backendAnswers: () => boolean;
  readonly followers: () => number;
}

type Name = keyof typeof RUN_METRICS;

export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #acquires = this.#counter("leasehold_acquires_total");
  readonly #acquireTime = this.#histogram("leasehold_acquire_duration_seconds", QUICK);
  readonly #refusals = this.#counter("leasehold_refusals_total");
  readonly #waitTime = this.#histogram("leasehold_wait_duration_seconds", LONG);
  readonly #takeovers = this.#counter("leasehold_takeovers_total");
  readonly #renewals = this.#counter("leasehold_renewals_total");
  readonly #renewalFailures = this.#counter("leasehold_renewal_failures_total");
  readonly #renewalLag = this.#histogram("leasehold_renewal_lag_seconds", QUICK);
  readonly #atRisk = this.#counter("leasehold_at_risk_total");
  readonly #doubts = this.#counter("leasehold_doubts_total");
  readonly #losses = this.#counter("leasehold_losses_total");
  readonly #requests = this.#counter("leasehold_release_requests_total");
  readonly #asked = this.#counter("leasehold_releases_asked_total");
  readonly #abandoned = this.#counter("leasehold_abandoned_total");
  readonly #releases = this.#counter("leasehold_releases_total");
  /** Of prompts: what else holds a session here for a moment is no run to its operator. */
  readonly #runTime = this.#histogram("leasehold_run_duration_seconds", LONG);

  /** For `SessionRuns`. */
  readonly observer: RunObserver = {
    acquireEnded: (outcome, ms) => {
      this.#acquires.inc({ outcome });
      this.#acquireTime.observe(ms / 1_000);
    },
    refused: (where) => this.#refusals.inc({ where }),
    waited: (outcome, ms) => this.#waitTime.observe({ outcome }, ms / 1_000),
    tookOver: (previous) => this.#takeovers.inc({ previous }),
    renewed: (lagMs) => {
      this.#renewals.inc();
      this.#renewalLag.observe(lagMs / 1_000);
    },
    renewFailed: (code) => this.#renewalFailures.inc({ code }),
    atRisk: () => this.#atRisk.inc(),
    doubted: () => this.#doubts.inc(),
    lost: (reason) => this.#losses.inc({ reason }),
    releaseRequested: () => this.#requests.inc(),
    releaseAsked: () => this.#asked.inc(),
    abandoned: () => this.#abandoned.inc(),
    released: (outcome) => this.#releases.inc({ outcome }),
  };

  constructor() {
    // A series that is 0 from the start can be alerted on before it first moves.
    for (const reason of LOSSES) this.#losses.inc({ reason }, 0);
    for (const previous of HOLD_ENDS) this.#takeovers.inc({ previous }, 0);
    for (const outcome of OUTCOMES) this.#runTime.zero({ outcome });
    for (const outcome of ["granted", "held"]) this.#acquires.inc({ outcome }, 0);
    for (const where of ["here", "elsewhere"]) this.#refusals.inc({ where }, 0);
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
  readFrom({ store, runStats, isDraining, backendAnswers, followers }: MetricSources): void {
    const known = (name: Name, read: () => number): void => this.#reading(name, RUN_METRICS[name]?.help ?? name, read);
    known("leasehold_leases_held", () => runStats().held);
    known("leasehold_runs_waiting", () => runStats().waiting);
    known("leasehold_runs_unsettled", () => runStats().unsettled);
    this.#reading("leasehold_followers", "Clients that follow a session's log.", followers);
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

  #counter(name: Name): Counter {
    const { help = name, labels: labelNames = [] } = RUN_METRICS[name] ?? {};
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: Name, buckets: number[]): Histogram {
    const { help = name, labels: labelNames = [] } = RUN_METRICS[name] ?? {};
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
