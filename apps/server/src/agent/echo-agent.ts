import type { Clock } from "@leasehold/session-lease";
import { pause } from "../pause.js";
import type { Agent, AgentEnd, AgentRun, AgentTask } from "./agent.js";
import { type OutputLine, outputLines } from "./output-lines.js";

/** Ms between two words: slow enough to watch, and to send a second prompt meanwhile. */
const PACE = 250;

/**
 * The agent of a server that was given none: it says the prompt back, a word at a time. It lives in the server's own
 * process and touches nothing, so it needs no leash: what it says goes through the run, like everything that is written.
 */
export function echoAgent(clock: Clock, pace: number = PACE): Agent {
  const running = new Set<EchoRun>();
  return {
    name: "echo",
    ready: async () => {},
    start: async (task) => {
      await task.onReady();
      const run = new EchoRun(task, clock, pace);
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

  constructor({ prompt }: AgentTask, clock: Clock, pace: number) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.output = outputLines(this.#say(prompt, clock, pace));
  }

  async *#say(prompt: string, clock: Clock, pace: number): AsyncGenerator<Uint8Array, void, void> {
    const bytes = new TextEncoder();
    let first = true;
    for (const [word] of prompt.matchAll(/\S+/g)) {
      if (!first) await pause(clock, pace, this.#stopped.signal);
      if (this.#stopped.signal.aborted) break;
      first = false;
      yield bytes.encode(`${word}\n`);
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
