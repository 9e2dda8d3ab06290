/**
 * One run, from the moment its session is held to the moment nothing of it is left.
 *
 * States
 * - opening:  the fence is raised, and what a dead predecessor left is ended. Nothing of this run is in the log.
 * - ready:    the agent exists and waits. `started`, which names its processes, is written to the disk; then it runs.
 * - running:  each line it says is an `output` event. Left when the agent has ended by itself, or for `stopping`.
 * - stopping: cancelled, out of time, silent for too long, drained, lost, or the log cannot be written. The agent is asked to end, then made to.
 * - ended:    nothing of the agent is left. The final event is written, unless the hold was lost: then nothing is.
 *
 * The caller holds the lease until this has settled, so the final event is in the log before anybody else gets in.
 */

import { LeashError } from "@leasehold/leash";
import { type Clock, lossReason } from "@leasehold/session-lease";
import type { Run } from "@leasehold/session-runs";
import type { JsonValue, SessionStore } from "@leasehold/session-store";
import type { Logger } from "pino";
import type { Agent, AgentEnd, AgentRun } from "../agent/agent.js";
import { AlreadyBegunError } from "./once.js";
import { succeed } from "./predecessor.js";
import type { RequestIndex } from "./request-index.js";
import type { RequestKey } from "./request-key.js";
import { type FailReason, GROUP_KEY, REQUEST_KEY, type RunEventType, type RunNews, shownEvent } from "./run-events.js";
import { isLoss, RunWriter } from "./run-writer.js";
import { type StopCause, stopCauseOf } from "./stop-cause.js";

/** What every run of a server shares. */
export interface RunParts {
  readonly store: SessionStore;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requests: RequestIndex;
}

/** What a run is begun with. */
export interface RunTask {
  readonly prompt: string;
  /** Absent: the client has no name for its request, and sending it again is another request. */
  readonly request?: RequestKey | undefined;
}

export type Outcome = "finished" | "failed" | "cancelled" | "lost";

/** Never rejects. While it is pending no more of the agent's output is read. */
export type Tell = (news: RunNews) => Promise<void>;

/**
 * Ms that an agent has to end. Whoever lost the session has none. A drain joins its runs for five seconds: in these an agent's
 * grace, its last words (1.5 s) and a client's patience (1 s) must fit.
 */
const GRACE: Readonly<Record<StopCause, number>> = {
  cancelled: 5_000,
  asked: 5_000,
  timeout: 5_000,
  idle: 5_000,
  drain: 2_000,
  lost: 0,
};

type Fields = { readonly [key: string]: JsonValue };
type Verdict = Readonly<{ type: "finished" | "failed" | "cancelled"; fields: Fields }>;

/**
 * Drives one prompt. `tell` hears every event once it is in the log, and `lease_lost`, which is in no log.
 *
 * Rejects with what kept the agent from starting, with `AlreadyBegunError` for a request that has a run in the log, and
 * with a loss or a `StoreError` that ended the run; whatever happened before `started` was told has left no trace of the
 * run in the log.
 */
export async function conductRun(run: Run, task: RunTask, parts: RunParts, tell: Tell): Promise<Outcome> {
  return await new Conduct(run, await tokenOf(run, parts.store), parts, tell).conduct(task);
}

/** Without a lease there is no new token: the store's highest goes on. */
export async function tokenOf(run: Run, store: SessionStore): Promise<bigint> {
  return run.token ?? (await store.highest(run.sessionId)) ?? 0n;
}

class Conduct {
  readonly #run: Run;
  readonly #parts: RunParts;
  readonly #writer: RunWriter;
  readonly #tell: Tell;
  #agentRun: AgentRun | undefined;
  #ended: AgentEnd | undefined;
  #stopped: StopCause | undefined;
  #lossTold = false;

  constructor(run: Run, token: bigint, parts: RunParts, tell: Tell) {
    this.#run = run;
    this.#parts = parts;
    this.#writer = new RunWriter(run, token, parts.store, parts.clock);
    this.#tell = tell;
  }

  async conduct(task: RunTask): Promise<Outcome> {
    const { sessionId, signal } = this.#run;
    const { store, log, requests } = this.#parts;
    const recovered = await succeed(sessionId, this.#writer, store, log);
    const begun = task.request && (await requests.find(sessionId, task.request.key));
    if (begun !== undefined) throw new AlreadyBegunError(begun);
    const agentRun = await this.#start(task, recovered);
    this.#agentRun = agentRun;
    void agentRun.ended.then((end) => {
      this.#ended = end;
    });
    const untether = this.#run.tether(agentRun);
    const onAbort = (): void => this.#stop(stopCauseOf(signal.reason), signal.reason);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    try {
      return await this.#follow(agentRun);
    } catch (error) {
      await agentRun.stop(0);
      this.#account(error);
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      untether();
    }
  }

  async #start({ prompt, request }: RunTask, recovered: boolean): Promise<AgentRun> {
    const { sessionId, runId } = this.#run;
    let written = false;
    try {
      return await this.#parts.agent.start({
        sessionId,
        runId,
        token: this.#writer.token,
        prompt,
        validUntil: () => this.#run.validUntil,
        onReady: async (group) => {
          await this.#write(
            "started",
            {
              prompt,
              ...(recovered && { recovered }),
              ...(group !== undefined && { [GROUP_KEY]: plain(group) }),
              ...(request !== undefined && { [REQUEST_KEY]: { key: request.key, digest: request.digest } }),
            },
            { sync: true },
          );
          written = true;
        },
      });
    } catch (error) {
      // Written down, and then not let run: what has begun in the log must end there.
      if (written) await this.#endUnstarted(error);
      throw error;
    }
  }

  async #endUnstarted(cause: unknown): Promise<void> {
    const expired = cause instanceof LeashError && cause.code === "expired";
    try {
      await this.#write(
        "failed",
        { reason: (expired ? "validity" : "unwatched") satisfies FailReason },
        { sync: true },
      );
    } catch (error) {
      this.#account(error);
    }
  }

  async #follow(agentRun: AgentRun): Promise<Outcome> {
    for await (const line of agentRun.output) {
      this.#run.touch();
      await this.#write("output", line);
    }
    const { type, fields } = this.#verdict(await agentRun.ended);
    if (this.#stopped === "lost") throw this.#run.signal.reason;
    await this.#write(type, fields, { sync: true });
    return type;
  }

  /** What has ended by itself already is not stopped. */
  #stop(cause: StopCause, reason: unknown): void {
    if (cause === "lost") this.#tellLoss(reason);
    if (this.#ended !== undefined || (this.#stopped !== undefined && cause !== "lost")) return;
    this.#stopped = cause;
    void this.#agentRun?.stop(GRACE[cause]);
  }

  #verdict(end: AgentEnd): Verdict {
    const how: Fields = {
      ...(end.exitCode !== null && { exitCode: end.exitCode }),
      ...(end.signal !== null && { signal: end.signal }),
    };
    const failed = (reason: FailReason): Verdict => ({ type: "failed", fields: { reason, ...how } });
    if (this.#stopped === "cancelled") return { type: "cancelled", fields: how };
    if (this.#stopped === "asked") return { type: "cancelled", fields: { ...how, asked: true } };
    if (this.#stopped === "timeout" || this.#stopped === "idle" || this.#stopped === "drain")
      return failed(this.#stopped);
    if (end.by !== "itself") return failed(end.by);
    if (end.exitCode === 0) return { type: "finished", fields: how };
    return failed(end.exitCode === null ? "signal" : "exit");
  }

  /** Tells those who watch how a run ended that can say nothing more in the log. */
  #account(error: unknown): void {
    if (isLoss(error)) this.#tellLoss(error);
    else this.#news("failed", { reason: "store" satisfies FailReason });
  }

  #tellLoss(error: unknown): void {
    if (this.#lossTold) return;
    this.#lossTold = true;
    this.#news("lease_lost", { reason: lossReason(error) ?? "taken" });
  }

  /** News without a place in the log. */
  #news(type: string, fields: Fields): void {
    const { runId } = this.#run;
    void this.#tell({ type, body: { type, runId, token: this.#writer.token.toString(), ...fields } });
  }

  async #write(type: RunEventType, fields: Fields, options?: { readonly sync: boolean }): Promise<void> {
    const stored = await this.#writer.write(this.#run.runId, type, fields, options);
    // A loss is the last that a stream tells. An event that was on its way to the log when it came is in the log.
    if (!this.#lossTold) await this.#tell({ type, seq: stored.seq, body: shownEvent(stored) });
  }
}

/** A value of this program's own as the JSON it will be. */
function plain(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
