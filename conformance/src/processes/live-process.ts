/**
 * A process of the host, and what can be done to it from outside.
 *
 * States:
 * - *running*: since it was started, and again after `continue`.
 * - *stopped*: the kernel says so (T), by `stop` or by a signal of its own. It keeps what it holds and believes what it believed.
 * - *ended*: killed, or by itself. Whatever it believed is over; `ended` has resolved once that is in the history.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { hostClock } from "@leasehold/session-lease";
import type { Recorder } from "../judge/recorder.js";

/** Ms between two looks at what the kernel says. */
const LOOK_AGAIN = 1;

export class LiveProcess {
  readonly name: string;
  readonly child: ChildProcess;
  /** Resolves when it has ended, whatever ended it. */
  readonly ended: Promise<void>;
  readonly #recorder: Recorder | undefined;
  /** Nothing has ended it before this instant. */
  #aliveAt = 0;
  #hasEnded = false;

  /** With a recorder, what is done to it is written down under its name. */
  constructor(name: string, child: ChildProcess, recorder?: Recorder) {
    this.name = name;
    this.child = child;
    this.#recorder = recorder;
    this.seenAlive();
    this.ended = once(child, "exit").then(() => {
      this.#hasEnded = true;
      recorder?.killed(name, this.#aliveAt);
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.name} could not be started`);
    return this.child.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** SIGKILL. Resolves when it has ended. */
  async kill(): Promise<void> {
    this.seenAlive();
    this.child.kill("SIGKILL");
    await this.ended;
  }

  /** SIGSTOP. Resolves when it is stopped. */
  async stop(): Promise<void> {
    this.child.kill("SIGSTOP");
    await this.stopped();
  }

  /** Resolves when the kernel says that it is stopped, whoever stopped it; rejects if it ends instead. */
  async stopped(): Promise<void> {
    if (!(await this.stopsBefore(this.ended))) throw new Error(`${this.name} has ended and will not be stopped`);
  }

  /** Whether the kernel says that it is stopped before `settled` has settled. */
  async stopsBefore(settled: Promise<unknown>): Promise<boolean> {
    let over = false;
    const end = (): void => {
      over = true;
    };
    settled.then(end, end);
    while (stateOf(this.pid) !== "T") {
      if (over || this.#hasEnded) return false;
      await new Promise<void>((resolve) => {
        hostClock.schedule(resolve, LOOK_AGAIN, { keepAlive: true });
      });
    }
    this.#recorder?.stopped(this.name);
    return true;
  }

  /** SIGCONT. */
  continue(): void {
    this.child.kill("SIGCONT");
    this.#recorder?.continued(this.name);
  }

  /** Whatever ends it ends it later than this. */
  protected seenAlive(): void {
    if (!this.#hasEnded) this.#aliveAt = this.#recorder?.now() ?? 0;
  }
}

/** R, S, T, Z...: field 3 of /proc/PID/stat; undefined when there is no such process. */
export function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2)[0];
  } catch {
    return undefined;
  }
}
