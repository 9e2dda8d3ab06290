/**
 * `grpc.health.v1`, following the backend and the end of the daemon.
 *
 * States, of the whole server ("") and of each of its services alike:
 * - *serving*: the backend answered when it was last asked, by a client or by the probe;
 * - *not serving*: it could not be asked, or refused this daemon. The next answer ends that;
 * - *ending*: for good.
 */

import { AccessDeniedError, type CallReport } from "@leasehold/grpcdriver";
import {
  type Clock,
  type LeaseErrorCode,
  leaseErrorCode,
  pause,
  type SessionLease,
  supports,
} from "@leasehold/session-lease";
import { HealthImplementation, type ServingStatus } from "grpc-health-check";
import type { Logger } from "pino";

/** Ms between two probes, where no client asks anyway. */
const PROBE_EVERY = 5_000;
/** Whom the probe asks about. */
const PROBED = "leasehold:probe";

/** Codes that say nothing about a session, only that the backend could not be asked. */
const OUTAGE: ReadonlySet<LeaseErrorCode | undefined> = new Set([
  "unavailable",
  "unknown-outcome",
  "denied",
  "unsupported",
]);
/** Codes that say nothing about the backend. */
const CALLERS: ReadonlySet<LeaseErrorCode | undefined> = new Set(["invalid", "aborted", "closed"]);

export const SERVICES = [
  "mecatl.driver.v1.SessionLeaseService",
  "leasehold.driver.v1.SessionLeasePowersService",
] as const;

export class BackendHealth {
  readonly implementation: HealthImplementation = new HealthImplementation(statusOfAll("SERVING"));
  readonly #log: Logger;
  #status: ServingStatus = "SERVING";
  #ending = false;
  #answeredAt = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Hears of a call. */
  note({ error }: Pick<CallReport, "error">): void {
    if (error instanceof AccessDeniedError) return;
    const code = error === undefined ? undefined : leaseErrorCode(error);
    if (error !== undefined && CALLERS.has(code)) return;
    if (error === undefined || !OUTAGE.has(code)) {
      this.#answeredAt = this.#clock.monotonic();
      this.#tell("SERVING");
    } else {
      this.#tell("NOT_SERVING", error);
    }
  }

  /** Asks the backend now and then, until the signal aborts. */
  async probe(lease: SessionLease, signal: AbortSignal): Promise<void> {
    if (!supports(lease, "inspect")) return;
    while (!signal.aborted) {
      await pause(this.#clock, PROBE_EVERY, { signal });
      if (signal.aborted || this.#clock.monotonic() - this.#answeredAt < PROBE_EVERY) continue;
      await lease.inspect(PROBED, { signal }).then(
        () => this.note({}),
        (error: unknown) => this.note({ error }),
      );
    }
  }

  end(): void {
    this.#tell("NOT_SERVING");
    this.#ending = true;
  }

  #tell(status: ServingStatus, error?: unknown): void {
    if (this.#ending || status === this.#status) return;
    this.#status = status;
    for (const service of ["", ...SERVICES]) this.implementation.setStatus(service, status);
    if (status === "SERVING") this.#log.info({ event: "backend.up" }, "the backend answers again");
    else if (error !== undefined) this.#log.error({ event: "backend.down", err: error }, "the backend cannot be asked");
  }
}

function statusOfAll(status: ServingStatus): Record<string, ServingStatus> {
  return Object.fromEntries(["", ...SERVICES].map((service) => [service, status]));
}
