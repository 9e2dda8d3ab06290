/**
 * Real processes, driven by verbs, and one history of all that they do: start, kill, stop, continue, block the loop, step the
 * clock, plant a file. What happens is written down by whoever it happens to, each process into a file of its own, which is
 * whole to the last line even if the process was killed; the judge reads all of them afterwards.
 *
 * The processes share the host, so `at` in the history is its CLOCK_MONOTONIC, and the authority's clock is the wall clock
 * that all of them are given. For Linux: whether a process is stopped is read from /proc.
 */

import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionLease } from "@leasehold/session-lease";
import type { FaultEvent, LogEntry, MetaEvent } from "../judge/event.js";
import { readHistory } from "../judge/history.js";
import { type Judgement, judge } from "../judge/judge.js";
import { Recorder } from "../judge/recorder.js";
import { MemorySink } from "../judge/sink.js";
import { DrivenProcess } from "./driven-process.js";
import { LiveProcess } from "./live-process.js";
import type { Calls } from "./perform.js";
import { recordedHolder } from "./recorded-holder.js";
import { SteppedClock } from "./stepped-clock.js";

/** What the judge is told about the whole history; see `docs/histories.md`. */
export type HarnessOptions = Omit<MetaEvent, "event" | "source" | "breaks">;

/** What a planted file means to the judge. */
export type Planted = Pick<FaultEvent, "fault" | "session"> & Partial<Pick<FaultEvent, "of">>;

/** One for each test; `close` (or `await using`) ends every process that is left, and removes the history. */
export class Harness implements AsyncDisposable {
  /** The wall clock of every process, for what takes a clock in this one. */
  readonly clock: SteppedClock = new SteppedClock();
  readonly #directory = mkdtempSync(join(tmpdir(), "leasehold-history-"));
  readonly #sink = new MemorySink();
  readonly #recorder: Recorder;
  readonly #processes = new Map<string, LiveProcess>();
  readonly #recorders = new Map<string, Recorder>();

  constructor(options: HarnessOptions = {}) {
    this.#recorder = this.recorderOf("harness");
    this.#recorder.meta(options);
  }

  /** Starts a process of its own on a module that calls `perform`. The name must be new in this history. */
  async start<C extends Calls = Calls>(name: string, module: URL, argument: unknown = {}): Promise<DrivenProcess<C>> {
    const start = { name, history: this.historyOf(name), ahead: this.clock.ahead, argument };
    const started = await DrivenProcess.start<C>(module, start, this.#recorder);
    this.#processes.set(name, started);
    return started;
  }

  /** A program that was started by other means. It records, if it does, into `historyOf(name)`. */
  adopt(name: string, child: ChildProcess): LiveProcess {
    const adopted = new LiveProcess(name, child, this.#recorder);
    this.#processes.set(name, adopted);
    return adopted;
  }

  /** Where a process of that name writes its history. */
  historyOf(name: string): string {
    if (this.#processes.has(name) || name.includes("/")) throw new Error(`a process cannot be named ${name} here`);
    return join(this.#directory, `${name}.jsonl`);
  }

  /** Writes down what this process does under that name. */
  recorderOf(name: string): Recorder {
    const { clock } = this;
    const known = this.#recorders.get(name);
    if (known !== undefined) return known;
    const made = new Recorder({ sink: this.#sink, process: name, clock, authority: () => clock.wall() });
    this.#recorders.set(name, made);
    return made;
  }

  /** A lease of this process, its calls and beliefs written down under that name. */
  holder<L extends SessionLease>(name: string, inner: L): L {
    return recordedHolder(inner, this.recorderOf(name));
  }

  /** Steps the wall clock of the host, as far as the processes and this one are given it: of all that live. */
  async step(ms: number): Promise<void> {
    const since = this.#recorder.now();
    this.clock.step(ms);
    const driven = [...this.#processes.values()].filter((each) => each instanceof DrivenProcess && !each.hasEnded);
    await Promise.all(driven.map((each) => (each as DrivenProcess).ask("stepClock", ms)));
    this.#recorder.fault({ fault: "step", by: ms }, since);
  }

  /** Writes a file behind everybody's back. With `meaning` the judge is told what it did. */
  plant(path: string, content: string, meaning?: Planted): void {
    const since = this.#recorder.now();
    writeFileSync(path, content);
    if (meaning !== undefined) this.#recorder.fault(meaning, since);
  }

  /** Something else was done to the store or the authority, after `since` (`clock.monotonic()`). */
  fault(meaning: Planted, since: number): void {
    this.#recorder.fault(meaning, since);
  }

  /** What is in the log of a session now that all is over. */
  log(session: string, entries: readonly LogEntry[]): void {
    this.#recorder.log(session, entries);
  }

  /** The history so far, of all processes. */
  judge(): Judgement {
    const own = { name: "harness.jsonl", text: this.#sink.text };
    const files = [...this.#processes.keys()].flatMap((name) => {
      const path = join(this.#directory, `${name}.jsonl`);
      return existsSync(path) ? [{ name: `${name}.jsonl`, text: readFileSync(path, "utf8") }] : [];
    });
    return judge(readHistory([own, ...files]));
  }

  /** What the judge finds in the history so far, each with the lines that show it; nothing, if it is accepted. */
  findings(): string[] {
    const { violations, undecided } = this.judge();
    const broken = violations.map(({ rule, sentence, evidence }) =>
      [`${rule}: ${sentence}`, ...evidence.map(({ file, line, text }) => `  ${file}:${line} ${text}`)].join("\n"),
    );
    return [...broken, ...undecided.map((each) => `not decided: ${JSON.stringify(each)}`)];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((each) => (each.hasEnded ? undefined : each.kill())));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
