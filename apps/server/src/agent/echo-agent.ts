import { type Clock, pause } from "@leasehold/session-lease";
import { parseDuration } from "../start/duration.js";
import type { Agent, AgentEnd, AgentRun, AgentTask } from "./agent.js";
import { type OutputLine, outputLines } from "./output-lines.js";

/** A line that asks for time: "wait 30s". */
const WAIT = /^wait (\S+)$/;

/**
 * The agent of a server that was given none: it says the prompt back, a line at a time, and after the line `wait 30s` it
 * takes that long. It lives in the server's own process and touches nothing, so it needs no leash: what it says goes
 * through the run, like everything that is written.
 */
export function echoAgent(clock: Clock): Agent {
  const running = new Set<EchoRun>();
  return {
    name: "echo",
    ready: async () => {},
    start: async (task) => {
      await task.onReady();
      const run = new EchoRun(task, clock);
      running.add(run);
      void run.ended.then(() => running.delete(run));
      return run;
    },
    close: async () => {
      for (const run of running) await run.stop();
    },
  };
}

class EchoRun implements AgentRun {
  readonly output: AsyncIterable<OutputLine>;
  readonly ended: Promise<AgentEnd>;
  readonly #stopped = new AbortController();
  #end: (end: AgentEnd) => void = () => {};

  constructor({ prompt }: AgentTask, clock: Clock) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.output = outputLines(this.#say(prompt, clock));
  }

  async *#say(prompt: string, clock: Clock): AsyncGenerator<Uint8Array, void, void> {
    const bytes = new TextEncoder();
    for (const line of prompt.split(/\r?\n/)) {
      if (this.#stopped.signal.aborted) break;
      yield bytes.encode(`${line}\n`);
      const time = parseDuration(WAIT.exec(line)?.[1] ?? "");
      if (time !== undefined) await pause(clock, time, { signal: this.#stopped.signal });
    }
    this.#end(this.#stopped.signal.aborted ? { exitCode: null, signal: "SIGTERM", by: "itself" } : FINISHED);
  }

  extend(): void {}

  suspend(): void {}

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#end({ exitCode: null, signal: "SIGTERM", by: "itself" });
    await this.ended;
  }
}

const FINISHED: AgentEnd = { exitCode: 0, signal: null, by: "itself" };
