/**
 * Enumerates the interleavings of a few simulated processes, one step of the file system at a time.
 *
 * A run is a list of choices: at every point, which process takes its next step (or, for a step with several possible
 * answers, which answer it gets). The explorer repeats the run with every other choice in turn, depth first. A process
 * that is not chosen is stopped, for as long as the others care to run; leaving a process that could go on costs one of a
 * bounded number of preemptions, so that the number of runs stays finite and small.
 *
 * Of runs that differ only in the places of steps that do not clash one is enough (sleep sets, Godefroid). With a bound on
 * preemptions that holds for one kind of pair: a process is left before a step, or after it. When it was left after it, all
 * that can follow has been tried. When it is left before it, the step *sleeps*, until another process does something that
 * clashes with it: while it sleeps the process is not chosen, for its step could as well have come before the
 * preemption, and that costs no preemption more. A step that a check looks at (`show`) never sleeps.
 */

import { clash, type Footprint } from "./footprint.js";
import { settled } from "./settled.js";

type Pending = Readonly<{ process: string; label: string; footprint: Footprint; take: () => void }>;

/** One choice of a run. `quiet`: whatever the first of the options led to at once, no check looks at it. */
export type Choice = { readonly chosen: number; readonly of: number; quiet: boolean };

export class Violation extends Error {}

export interface RunReport {
  readonly runs: number;
  readonly steps: number;
  /** False if the limit of runs was reached first. */
  readonly complete: boolean;
}

export class Schedule {
  /** Every step is taken at once: for what comes before and after the part that is explored. */
  free = true;
  readonly trace: string[] = [];
  readonly #choices: readonly Choice[];
  readonly #made: Choice[] = [];
  /** Process to the step of it that sleeps. */
  readonly #asleep = new Map<string, Footprint>();
  #shown = 0;
  readonly #preemptions: number;
  readonly #killable: ReadonlySet<string>;
  readonly #each: boolean;
  #pending: Pending[] = [];
  #running: string | undefined;
  #preempted = 0;
  #killed: string | undefined;

  constructor(choices: readonly Choice[], { preemptions, killable = [], each = false }: Exploration) {
    this.#choices = choices;
    this.#preemptions = preemptions;
    this.#killable = new Set(killable);
    this.#each = each;
  }

  get made(): readonly Choice[] {
    return this.#made;
  }

  /** A process tells, or asks for, something that a check looks at. */
  show(): void {
    this.#shown += 1;
  }

  get killed(): string | undefined {
    return this.#killed;
  }

  /** One step of a process; `effect` happens in one instant, when the schedule comes to it. */
  step<T>(process: string, label: string, footprint: Footprint, effect: () => T): Promise<T> {
    if (process === this.#killed) return new Promise(() => undefined);
    return new Promise((resolve, reject) => {
      const take = (): void => {
        try {
          resolve(effect());
        } catch (error) {
          reject(error);
        }
      };
      if (this.free) take();
      else this.#pending.push({ process, label, footprint, take });
    });
  }

  /** One of several answers that the world may give; any but the first is a surprise, and counts as a preemption. */
  answer(alternatives: number): number {
    if (this.free || alternatives < 2 || this.#preempted >= this.#preemptions) return 0;
    const chosen = this.#choose(alternatives);
    if (chosen > 0) this.#preempted += 1;
    return chosen;
  }

  #choose(alternatives: number): number {
    if (alternatives < 2) return 0;
    const { chosen = 0, quiet = true } = this.#choices[this.#made.length] ?? {};
    this.#made.push({ chosen, of: alternatives, quiet });
    return chosen;
  }

  /**
   * Runs the processes to their ends in the order that the choices say; `check` is called after every step. False if it
   * ended early, because another run shows all that this one could.
   */
  async explore(processes: Readonly<Record<string, () => Promise<void>>>, check: () => void): Promise<boolean> {
    this.free = false;
    const ends = Object.entries(processes).map(([name, run]) =>
      this.step(name, "begin", {}, () => undefined)
        .then(run)
        .catch((error: unknown) => {
          throw new Violation(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
        }),
    );
    let failure: unknown;
    const over = Promise.all(ends).catch((error: unknown) => {
      failure = error;
    });
    await settled();
    while (this.#pending.length > 0) {
      const before = this.#made.length;
      const shown = this.#shown;
      if (!this.#next()) return false;
      await settled();
      const choice = this.#made[before];
      if (choice?.chosen === 0 && this.#shown !== shown) choice.quiet = false;
      if (failure !== undefined) throw failure;
      check();
    }
    if (failure !== undefined) throw failure;
    if (this.#killed === undefined) await over;
    this.free = true;
    return true;
  }

  /** False if every process sleeps. */
  #next(): boolean {
    const others = this.#pending.filter(({ process }) => process !== this.#running && !this.#asleep.has(process));
    const own = this.#pending.find(({ process }) => process === this.#running);
    const mayPreempt = this.#preempted < this.#preemptions;
    const firsts = others.filter(({ process }, at) => others.findIndex((other) => other.process === process) === at);
    const options = own === undefined ? firsts : mayPreempt ? [own, ...firsts] : [own];
    const mayKill = own !== undefined && mayPreempt && this.#killed === undefined && this.#killable.has(own.process);
    if (options.length === 0) return false;
    const chosen = this.#choose(options.length + (mayKill ? 1 : 0));
    const next = options[chosen];
    if (next === undefined) {
      this.#killed = own?.process;
      this.#pending = this.#pending.filter(({ process }) => process !== this.#killed);
      this.trace.push(`${this.#killed} is killed before ${own?.label}`);
      this.#preempted += 1;
      return true;
    }
    if (own !== undefined && next !== own) {
      this.#preempted += 1;
      if (this.#made.at(-1)?.quiet === true && !this.#each) this.#asleep.set(own.process, own.footprint);
    }
    for (const [process, asleep] of this.#asleep) if (clash(asleep, next.footprint)) this.#asleep.delete(process);
    this.#running = next.process;
    this.#pending.splice(this.#pending.indexOf(next), 1);
    this.trace.push(`${next.process}: ${next.label}`);
    next.take();
    return true;
  }
}

export interface Exploration {
  readonly preemptions: number;
  /** Processes that may be killed, one in each run, before any of their steps. */
  readonly killable?: readonly string[];
  readonly mostRuns: number;
  /** Runs each interleaving to its end, also those of which another one shows everything. */
  readonly each?: boolean;
}

/** Repeats `run` with every schedule. Throws the first violation, with the trace that led to it. */
export async function exploreAll(bounds: Exploration, run: (schedule: Schedule) => Promise<void>): Promise<RunReport> {
  let choices: readonly Choice[] = [];
  let runs = 0;
  let steps = 0;
  for (;;) {
    const schedule = new Schedule(choices, bounds);
    try {
      await run(schedule);
    } catch (error) {
      const trace = schedule.trace.map((line, at) => `${String(at + 1).padStart(4)}  ${line}`).join("\n");
      throw new Violation(`${error instanceof Error ? error.message : String(error)}\nin run ${runs + 1}:\n${trace}`);
    }
    runs += 1;
    steps += schedule.trace.length;
    const made = [...schedule.made];
    while (made.length > 0) {
      const last = made[made.length - 1];
      if (last !== undefined && last.chosen + 1 < last.of) break;
      made.pop();
    }
    if (made.length === 0) return { runs, steps, complete: true };
    if (runs >= bounds.mostRuns) return { runs, steps, complete: false };
    choices = made.map((choice, at) => (at === made.length - 1 ? { ...choice, chosen: choice.chosen + 1 } : choice));
  }
}
