import { fork } from "node:child_process";
import type { Recorder } from "../judge/recorder.js";
import { LiveProcess } from "./live-process.js";
import type { Answer, Order, Reply, Start } from "./messages.js";
import type { Calls, StageCalls } from "./perform.js";

type Known<C extends Calls> = Omit<C, keyof StageCalls> & StageCalls;
type Args<F> = F extends (...args: infer A extends unknown[]) => unknown ? A : never;
type Result<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;

/** A process whose module has called `perform`: it does what it is asked for. */
export class DrivenProcess<C extends Calls = Calls> extends LiveProcess {
  readonly #waiting = new Map<number, (answer: Answer<unknown>) => void>();
  #orders = 0;

  private constructor(module: URL, start: Start, recorder: Recorder) {
    const child = fork(module, [JSON.stringify(start)], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      execArgv: [],
    });
    super(start.name, child, recorder);
    child.on("message", (reply: Reply) => {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  /** Resolves when it is ready; rejects when it ends before. */
  static async start<C extends Calls>(module: URL, start: Start, recorder: Recorder): Promise<DrivenProcess<C>> {
    const started = new DrivenProcess<C>(module, start, recorder);
    const ready = new Promise((resolve) => started.#waiting.set(0, resolve));
    const ended = started.ended.then(() => {
      throw new Error(`${start.name} (${module.href}) ended before it was ready`);
    });
    await Promise.race([ready, ended]);
    // That it ends later is no news to anybody.
    ended.catch(() => undefined);
    return started;
  }

  /** How the call ended. Never settles if the process dies of it. */
  try<K extends keyof Known<C> & string>(call: K, ...args: Args<Known<C>[K]>): Promise<Answer<Result<Known<C>[K]>>> {
    this.seenAlive();
    this.#orders += 1;
    const order: Order = { id: this.#orders, call, args };
    return new Promise((resolve) => {
      this.#waiting.set(order.id, resolve as (answer: Answer<unknown>) => void);
      this.child.send(order, () => undefined);
    });
  }

  /** What the call answered. Rejects with its refusal in words; never settles if the process dies of it. */
  async ask<K extends keyof Known<C> & string>(call: K, ...args: Args<Known<C>[K]>): Promise<Result<Known<C>[K]>> {
    const { value, error } = await this.try(call, ...args);
    if (error !== undefined) throw new Error(`${call} in ${this.name}: ${error.code}: ${error.message}`);
    return value as Result<Known<C>[K]>;
  }
}
