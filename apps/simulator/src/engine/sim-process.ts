/**
 * One process of the simulated world. All that reaches it, its timers and the completions of what it asked for, passes its
 * gate.
 *
 * States:
 * - *running*: what reaches the gate happens at once.
 * - *stopped* (SIGSTOP, or its machine is suspended): what reaches the gate waits, in order. Stops are counted: it runs
 *   again when every one has been taken back.
 * - *dead* (SIGKILL, power cut): what reaches the gate is dropped, now and for ever. A process that is started again is
 *   another `SimProcess`.
 */

import type { Clock, ProcessIdentity, Timer } from "@leasehold/session-lease";
import type { HostClocks } from "./host-clock.js";
import type { Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/** Ms. No timer is early, not by a rounding error either: it waits at least as long as any clock can resolve. */
const GRAIN = 1 / 1024;

type Waiting = Readonly<{ kind: "timer" | "completion"; run: () => void }>;

export interface SimProcessParts {
  readonly name: string;
  /** No two processes of one world share it. */
  readonly pid: number;
  readonly timeline: Timeline;
  readonly clocks: HostClocks;
  readonly random: Random;
  /** What a callback of this process threw: in a real one, an uncaught exception. */
  readonly onThrow: (error: unknown) => void;
}

export class SimProcess {
  readonly name: string;
  readonly clocks: HostClocks;
  readonly clock: Clock;
  readonly random: Random;
  readonly identity: ProcessIdentity;
  /** Called when it is killed, before anything else happens. */
  readonly onKill: (() => void)[] = [];
  readonly onContinue: (() => void)[] = [];
  readonly #timeline: Timeline;
  readonly #onThrow: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #stops = 0;
  #dead = false;
  #timers = 0;

  constructor({ name, pid, timeline, clocks, random, onThrow }: SimProcessParts) {
    this.name = name;
    this.clocks = clocks;
    this.random = random;
    this.#timeline = timeline;
    this.#onThrow = onThrow;
    this.identity = { pid, startTime: "1", bootId: "b", pidNamespace: "p", timeNamespace: "t" };
    this.clock = {
      wall: () => clocks.wall(),
      monotonic: () => clocks.monotonic(),
      schedule: (callback, delayMs) => this.#schedule(callback, delayMs),
    };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  get isStopped(): boolean {
    return this.#stops > 0;
  }

  /** Timers that are set and have neither fired nor been cancelled. */
  get timers(): number {
    return this.#timers;
  }

  /** Something that this process waits for has happened. */
  deliver(run: () => void, kind: Waiting["kind"] = "completion"): void {
    if (this.#dead) return;
    if (this.#stops > 0 || this.#waiting.length > 0) {
      this.#waiting.push({ kind, run });
      return;
    }
    this.#run(run);
  }

  stop(): void {
    this.#stops += 1;
  }

  continue(): void {
    this.#stops = Math.max(0, this.#stops - 1);
    if (this.#stops > 0 || this.#dead) return;
    // The event loop that wakes looks at its timers or at what the kernel has for it, whichever phase it was in.
    const first = this.random.chance(0.5) ? "timer" : "completion";
    const isFirst = ({ kind }: Waiting): boolean => kind === first;
    this.#waiting = [...this.#waiting.filter(isFirst), ...this.#waiting.filter((each) => !isFirst(each))];
    for (const hook of this.onContinue) hook();
    this.#drain();
  }

  kill(): void {
    if (this.#dead) return;
    for (const hook of this.onKill) hook();
    this.#dead = true;
    this.#waiting = [];
  }

  /** What waited happens one by one, each in an event of its own. */
  #drain(): void {
    if (this.#waiting.length === 0) return;
    this.#timeline.after(0, () => {
      if (this.#stops > 0 || this.#dead) return;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#run(next.run);
      this.#drain();
    });
  }

  #run(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#onThrow(error);
    }
  }

  #schedule(callback: () => void, delayMs: number): Timer {
    const due = this.clocks.monotonic() + Math.max(0, delayMs);
    let planned = { cancel: (): void => undefined };
    let pending = true;
    this.#timers += 1;
    const end = (): boolean => {
      if (!pending) return false;
      pending = false;
      this.#timers -= 1;
      return true;
    };
    const arm = (): void => {
      const left = this.clocks.trueMs(due - this.clocks.monotonic());
      planned = this.#timeline.after(left > 0 ? Math.max(left, GRAIN) : 0, () => {
        this.deliver(() => {
          // The machine may have slept meanwhile.
          if (pending && this.clocks.monotonic() < due) arm();
          else if (end()) callback();
        }, "timer");
      });
    };
    arm();
    return {
      cancel: () => {
        if (end()) planned.cancel();
      },
    };
  }
}
