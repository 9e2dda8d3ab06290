/**
 * An agent that is a command: one process group for each run, on a leash that ends it when the holder's validity does,
 * whatever has become of this server.
 */

import type { Readable } from "node:stream";
import { Leash, LeashError, type LeashedChild } from "@leasehold/leash";
import { type Clock, type Moment, pause } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import type { Logger } from "pino";
import { withoutFlags } from "../start/flag-table.js";
import { Turnstile } from "../turnstile.js";
import type { Agent, AgentEnd, AgentRun, AgentTask } from "./agent.js";
import { type OutputLine, outputLines } from "./output-lines.js";

/**
 * Ms for which output is still read once no process of the group is left. Its pipe then holds little, and only a process
 * that has left the group can keep it open. Longer than a slow client may hold the output up, and short enough for a drain
 * (see `GRACE` in `conduct-run.ts`).
 */
const LAST_WORDS = 1_500;

/**
 * Agents that are being started at once. Starting a process keeps the event loop busy for milliseconds: a crowd of them would
 * leave renewals, and the watcher's answers, unread for seconds.
 */
const STARTS_AT_ONCE = 8;

export interface CommandAgentOptions {
  readonly command: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly log: Logger;
}

export function commandAgent({ command: [file, ...args], clock, log }: CommandAgentOptions): Agent {
  const leash = new Leash({
    clock,
    onWatcherLost: () => log.error("the watcher of the agents has died and is being replaced"),
  });
  const starts = new Turnstile(STARTS_AT_ONCE);
  return {
    name: file,
    ready: () => leash.ready(),
    start: async (task) => {
      const child = await starts.pass(() =>
        leash.spawn(file, args, {
          validUntil: task.validUntil(),
          env: environmentOf(task),
          onRegistered: task.onReady,
        }),
      );
      return new CommandRun(child, task, clock, log);
    },
    close: () => leash.close(),
  };
}

function environmentOf({ sessionId, runId, token }: AgentTask): NodeJS.ProcessEnv {
  return {
    ...withoutFlags(process.env),
    LEASEHOLD_SESSION_ID: sessionId,
    LEASEHOLD_RUN_ID: runId,
    LEASEHOLD_FENCING_TOKEN: token.toString(),
  };
}

class CommandRun implements AgentRun {
  readonly output: AsyncIterable<OutputLine>;
  readonly ended: Promise<AgentEnd>;
  readonly #child: LeashedChild;

  constructor(child: LeashedChild, { prompt, runId, sessionId }: AgentTask, clock: Clock, log: Logger) {
    this.#child = child;
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null)
      throw new LeashError("invalid", "an agent needs three pipes");
    // EPIPE: the agent does not care for the rest of the prompt.
    stdin.on("error", () => {});
    stdin.end(prompt);
    this.ended = endOf(child);
    this.output = outputLines(bytesOf(stdout));
    void this.ended.then(() => cutLater(clock, stdout, stderr));
    void logLines(stderr, log.child({ sessionId, runId }));
  }

  extend(validUntil: Moment): void {
    this.#child.extend(validUntil);
  }

  suspend(): void {
    this.#child.suspend();
  }

  async stop(graceMs?: number): Promise<void> {
    await this.#child.stop(graceMs === undefined ? {} : { graceMs });
  }
}

async function endOf(child: LeashedChild): Promise<AgentEnd> {
  const [exit] = await Promise.all([child.exited, child.ended]);
  return { exitCode: exit.code, signal: exit.signal, by: child.endedBy === "stop" ? "itself" : child.endedBy };
}

/** A stream that was cut has simply ended. */
async function* bytesOf(stream: Readable): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (!isErrno(error, "ERR_STREAM_PREMATURE_CLOSE")) throw error;
  }
}

async function cutLater(clock: Clock, ...streams: readonly Readable[]): Promise<void> {
  await pause(clock, LAST_WORDS);
  for (const stream of streams) stream.destroy();
}

async function logLines(stderr: Readable, log: Logger): Promise<void> {
  try {
    for await (const line of outputLines(bytesOf(stderr))) log.info({ event: "agent.stderr", ...line });
  } catch (error) {
    log.warn({ err: error }, "the agent's standard error could not be read");
  }
}
