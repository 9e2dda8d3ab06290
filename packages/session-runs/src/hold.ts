/** The lease of one run: what the run and the operator hear while it is kept, and how it is given back. */

import { callHook, Keeper, type KeeperHooks, type LeaseLostError } from "@leasehold/keeper";
import type { Clock, Lease, Moment, ReleaseRequest, SessionLease } from "@leasehold/session-lease";
import type { Grant } from "./acquisition.js";
import { ReleaseRequestedError } from "./errors.js";
import { codeOf, type Reporter } from "./reporter.js";
import type { LocalRun } from "./run.js";
import type { LeaseAtRisk } from "./session-runs-options.js";

export interface HoldSettings {
  readonly port: SessionLease;
  readonly clock: Clock;
  readonly ttl: number;
  readonly renewEvery: number | undefined;
  readonly reclaimExpired: boolean;
  readonly random: () => number;
  readonly reporter: Reporter;
  readonly onAtRisk: ((risk: LeaseAtRisk) => void) | undefined;
}

/** Begins to keep what was granted, in the name of the run. `ms`: how long the acquire took. */
export function holdLease(run: LocalRun, grant: Grant, ms: number, settings: HoldSettings): Keeper {
  const { reporter } = settings;
  const { owner, token, previous } = grant.lease;
  const of = { sessionId: run.sessionId, runId: run.runId, owner, token };
  reporter.observe((observer) => observer.acquireEnded?.("granted", ms));
  reporter.log({ event: "lease.acquired", ...of, ms });
  if (previous !== undefined) {
    reporter.observe((observer) => observer.tookOver?.(previous.ended));
    if (previous.ended !== "released") reporter.log({ event: "lease.takeover", ...of, previous });
  }
  const { port, clock, reclaimExpired, random } = settings;
  return new Keeper({
    lease: port,
    grant: grant.lease,
    requestedAt: grant.requestedAt,
    clock,
    // A backend that keeps a ttl of its own is renewed at a third of that one, and not told another.
    ...(port.capabilities.ttl && { ttl: settings.ttl, renewEvery: settings.renewEvery }),
    reclaimExpired,
    random,
    hooks: new HoldHooks(run, grant.lease, settings),
  });
}

/** What happens to the lease of one run, passed on to the run and to the operator. One small object for each run. */
class HoldHooks implements KeeperHooks {
  readonly #run: LocalRun;
  readonly #owner: string;
  readonly #token: bigint;
  readonly #settings: HoldSettings;

  constructor(run: LocalRun, { owner, token }: Lease, settings: HoldSettings) {
    this.#run = run;
    this.#owner = owner;
    this.#token = token;
    this.#settings = settings;
  }

  onRenewed(_lease: Lease, _validUntil: Moment, lagMs: number): void {
    const { clock, reporter } = this.#settings;
    this.#run.renewedAt = clock.wall();
    this.#run.extend();
    reporter.observe((observer) => observer.renewed?.(lagMs));
  }

  onRenewFailed(error: unknown): void {
    this.#settings.reporter.observe((observer) => observer.renewFailed?.(codeOf(error)));
  }

  onAtRisk(leftMs: number): void {
    const { reporter, onAtRisk } = this.#settings;
    reporter.observe((observer) => observer.atRisk?.());
    reporter.log({ event: "lease.at_risk", ...this.#of(), leftMs });
    callHook(onAtRisk, { ...this.#of(), leftMs });
  }

  onDoubt(): void {
    const { reporter } = this.#settings;
    this.#run.suspend();
    reporter.observe((observer) => observer.doubted?.());
    reporter.log({ event: "lease.in_doubt", ...this.#of() });
  }

  onLost(error: LeaseLostError): void {
    const { reporter } = this.#settings;
    this.#run.loss = error;
    this.#run.suspend();
    this.#run.abort(error);
    reporter.observe((observer) => observer.lost?.(error.reason));
    reporter.log({ event: "lease.lost", ...this.#of(), reason: error.reason, error });
  }

  onReleaseRequested(request: ReleaseRequest): void {
    letGo(this.#run, request, this.#settings.reporter);
  }

  #of(): Pick<LeaseAtRisk, "sessionId" | "runId" | "owner" | "token"> {
    const { sessionId, runId } = this.#run;
    return { sessionId, runId, owner: this.#owner, token: this.#token };
  }
}

/** Passes on to the run that somebody wants the session: through its lease, or from within this process. */
export function letGo(run: LocalRun, request: ReleaseRequest, reporter: Reporter): void {
  const { sessionId, runId, owner, token } = run;
  run.abort(new ReleaseRequestedError(request));
  reporter.observe((observer) => observer.releaseRequested?.());
  reporter.log({ event: "lease.release_requested", sessionId, runId, owner, token, request });
}

/** Releases the lease unless it is lost. Resolves with the error of a release that could not be delivered. */
export async function giveBack(run: LocalRun, keeper: Keeper, reporter: Reporter): Promise<unknown> {
  const { owner, token } = keeper.lease;
  const of = { sessionId: run.sessionId, runId: run.runId, owner, token };
  try {
    const outcome = await keeper.release();
    if (outcome === "lost") return undefined;
    reporter.observe((observer) => observer.released?.(outcome));
    reporter.log({ event: "lease.released", ...of, outcome });
    return undefined;
  } catch (error) {
    reporter.observe((observer) => observer.released?.("failed"));
    reporter.log({ event: "lease.release_failed", ...of, error });
    return error;
  }
}
