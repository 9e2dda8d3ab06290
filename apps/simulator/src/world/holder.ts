/**
 * The program of a process that drives sessions: runs one after the other, each opening its session, appending to it and
 * going away, as an agent server does for its prompts. Everything in it that matters is the product's own code.
 */

import type { Recorder } from "@leasehold/conformance/judge";
import { type FullSessionLease, findLeaseError, type LeaseErrorCode } from "@leasehold/session-lease";
import { findRunError, type Run, SessionRuns } from "@leasehold/session-runs";
import { isStaleToken, type SessionStore, type StoreErrorCode, storeErrorCode } from "@leasehold/session-store";
import type { SimProcess } from "../engine/sim-process.js";
import type { Witness } from "../laws/witness.js";
import { Belief } from "./belief.js";
import type { Scenario } from "./scenario.js";

/** Errors of a lease and of a store that some weather explains. */
const LEASE_WEATHER: ReadonlySet<LeaseErrorCode> = new Set([
  "held",
  "unavailable",
  "unknown-outcome",
  "aborted",
  "corrupt",
]);
const STORE_WEATHER: ReadonlySet<StoreErrorCode> = new Set(["stale-token", "unavailable"] as StoreErrorCode[]);

export interface HolderParts {
  readonly scenario: Scenario;
  readonly process: SimProcess;
  readonly careless: boolean;
  /** Recorded and watched. */
  readonly lease: FullSessionLease;
  readonly store: SessionStore;
  readonly recorder: Recorder;
  readonly witness: Witness;
  /** Whether the process shall begin no further run. */
  readonly isOver: () => boolean;
  /** An operator is needed: the session's record cannot be read. */
  readonly onCorrupt: (session: string) => void;
}

export class Holder {
  readonly runs: SessionRuns;
  readonly #parts: HolderParts;
  #writes = 0;

  constructor(parts: HolderParts) {
    const { scenario, process, lease, store } = parts;
    this.#parts = parts;
    this.runs = new SessionRuns({
      lease,
      ttl: scenario.ttl,
      renewEvery: scenario.renewEvery,
      above: (session) => store.highest(session),
      owner: process.name,
      clock: process.clock,
      random: () => process.random.next(),
      metadata: { host: "simulated", pid: `${process.identity.pid}` },
    });
  }

  /** Until the world is over. Rejects never, settles never if the process is killed. */
  async live(): Promise<void> {
    const { scenario, process, isOver } = this.#parts;
    while (!isOver()) {
      const session = process.random.pick(scenario.sessions);
      try {
        await this.runs.run(session, {}, (run) => this.#drive(run));
      } catch (error) {
        this.#check(session, error);
      }
      await this.#pause(process.random.between(20, 1_200));
    }
  }

  /** Ends whatever is under way, as on SIGTERM. */
  async end(): Promise<void> {
    const { process, store, lease, witness } = this.#parts;
    await this.runs.drain(200);
    await store.close();
    await lease.close();
    if (process.timers > 0)
      witness.note("clean-end", `${process.name} has closed and ${process.timers} timers are set`);
  }

  async #drive(run: Run): Promise<void> {
    const { process, recorder, witness } = this.#parts;
    const belief = Belief.of(run, process, recorder);
    witness.callbackBegan(run.owner);
    try {
      await this.#turn(run, belief);
    } finally {
      witness.callbackSettled(run.owner);
    }
  }

  async #turn(run: Run, belief: Belief | undefined): Promise<void> {
    const { process, careless, store, witness } = this.#parts;
    const { ttl } = this.#parts.scenario;
    const { sessionId: session, token = 0n } = run;
    const { lastSeq } = await this.#write(run, "open", () => store.open(session, token), undefined);
    witness.opened({ session, token, lastSeq });
    const turns = process.random.whole(1, careless ? 20 : 8);
    const longest = careless ? 150 : ttl;
    for (let turn = 0; turn < turns; turn += 1) {
      await this.#pause(process.random.between(5, longest), careless ? undefined : run.signal);
      if (!careless) {
        if (run.signal.aborted) break;
        if (!mayAct(run)) continue;
        belief?.act();
      }
      await this.#append(run, `turn ${turn}`);
    }
    // The last event of a run that was asked to go, or came to its end. One that has lost its lease is refused or absent.
    if (careless || mayAct(run)) await this.#append(run, "over");
  }

  #append(run: Run, type: string): Promise<unknown> {
    const { process, store } = this.#parts;
    const { sessionId, token = 0n, runId } = run;
    this.#writes += 1;
    const write = `${process.name}.${this.#writes}`;
    const event = { runId, type, data: write };
    return this.#write(
      run,
      "append",
      () => store.append(sessionId, token, event, { sync: true }),
      write,
      ({ seq }) => seq,
    );
  }

  #write<T>(
    { sessionId: session, token = 0n }: Run,
    op: "open" | "append",
    call: () => Promise<T>,
    write: string | undefined,
    seq?: (result: T) => number,
  ): Promise<T> {
    const asked = { session, op, token, write };
    return this.#parts.recorder.write(asked, call, { isStale: isStaleToken, ...(seq && { seq }) });
  }

  #check(session: string, error: unknown): void {
    const { witness, process, onCorrupt } = this.#parts;
    const lease = findLeaseError(error)?.code;
    if (lease === "corrupt") onCorrupt(session);
    if (lease !== undefined && LEASE_WEATHER.has(lease)) return;
    const store = storeErrorCode(error);
    if (store !== undefined && STORE_WEATHER.has(store)) return;
    if (findRunError(error) !== undefined) return;
    witness.note(
      "no-surprise",
      `${process.name} was told: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }

  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#parts.process.clock.schedule(end, ms);
      signal?.addEventListener("abort", end, { once: true });
    });
  }
}

function mayAct(run: Run): boolean {
  try {
    run.assertHeld();
    return true;
  } catch {
    return false;
  }
}
