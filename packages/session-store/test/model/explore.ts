/**
 * Every order in which several processes can take their steps, by running the real code again and again.
 *
 * Depth first over the choices "whose step is next". Two orders that differ only in the places of neighbouring steps
 * that share nothing are one: of such a family the sleep sets (Godefroid) let a single one be run to its end. A process
 * may also die at an append, with any number of the bytes given by `cuts` on the disk, once per run.
 */

import type { Gate, Permit, Step } from "./disk.js";

export interface Process {
  readonly name: string;
  /** Runs until its work is done; its steps wait at `gate`. */
  readonly run: (gate: Gate) => Promise<void>;
}

export interface Exploration {
  /** A fresh world with its processes, and what to verify once they have all ended or died. */
  readonly world: () => Promise<{ processes: readonly Process[]; verify: () => Promise<void> }>;
  /** How many bytes of an append of `length` may be written by a process that dies there. None unless given. */
  readonly cuts?: (length: number) => readonly number[];
  /** A bound on preemptions instead of all orders: how often a process that could go on is made to wait. */
  readonly preemptions?: number;
}

interface Choice {
  readonly who: number;
  /** Bytes written before dying; undefined: lives on. */
  readonly cut: number | undefined;
  readonly step: Step;
}

interface Fork {
  readonly choices: readonly Choice[];
  readonly asleep: readonly Choice[];
  readonly done: Choice[];
  taken: Choice;
}

/** No call takes so many; a run that does has gone in circles. */
const MAX_STEPS = 500;

/** @returns how many orders were run to their end. Rejects with the first violation, naming the order that shows it. */
export async function explore(exploration: Exploration): Promise<number> {
  const forks: Fork[] = [];
  let finished = 0;
  do {
    if (await runOnce(exploration, forks)) finished++;
  } while (backtrack(forks));
  return finished;
}

async function runOnce({ world, cuts, preemptions }: Exploration, forks: Fork[]): Promise<boolean> {
  const { processes, verify } = await world();
  const seats = processes.map((process) => new Seat(process));
  for (const seat of seats) await seat.settled;
  let asleep: readonly Choice[] = [];
  let left = preemptions ?? 0;
  let previous: number | undefined;
  for (let depth = 0; ; depth++) {
    let choices = choicesOf(
      seats,
      forks.slice(0, depth).some(({ taken }) => taken.cut !== undefined) ? undefined : cuts,
    );
    if (choices.length === 0) break;
    if (preemptions !== undefined) {
      const running = previous;
      const couldGoOn = choices.some(({ who }) => who === running);
      // The one that runs comes first, so that the first order tried is the one without preemptions.
      if (couldGoOn)
        choices = choices.filter(({ who }) => who === running || left > 0).sort((a) => (a.who === running ? -1 : 1));
    }
    let fork = forks[depth];
    if (fork === undefined) {
      const taken = choices.find((choice) => !has(asleep, choice));
      if (taken === undefined) return false;
      fork = { choices, asleep, done: [], taken };
      forks.push(fork);
    }
    const { taken, done } = fork;
    if (preemptions === undefined) {
      asleep = [...fork.asleep, ...done].filter(
        (other) => other.who !== taken.who && independent(other.step, taken.step),
      );
    } else if (previous !== undefined && previous !== taken.who && choices.some(({ who }) => who === previous)) left--;
    previous = taken.who;
    if (depth > MAX_STEPS) throw new Error(`no end after: ${orderOf(forks, processes)}`);
    await seats[taken.who]?.go(taken.cut);
  }
  try {
    for (const seat of seats) seat.check();
    await verify();
  } catch (error) {
    throw new Error(`after: ${orderOf(forks, processes)}`, { cause: error });
  }
  return true;
}

function orderOf(forks: readonly Fork[], processes: readonly Process[]): string {
  const steps = forks.map(({ taken: { who, cut, step } }) => {
    return `${processes[who]?.name} ${step.verb}${cut === undefined ? "" : ` dies at ${cut}`}`;
  });
  return steps.join(", ");
}

function backtrack(forks: Fork[]): boolean {
  for (let fork = forks.at(-1); fork !== undefined; fork = forks.at(-1)) {
    const { done, asleep } = fork;
    done.push(fork.taken);
    const next = fork.choices.find((choice) => !has(done, choice) && !has(asleep, choice));
    if (next !== undefined) {
      fork.taken = next;
      return true;
    }
    forks.pop();
  }
  return false;
}

function choicesOf(seats: readonly Seat[], cuts: Exploration["cuts"]): Choice[] {
  return seats.flatMap(({ waiting: step }, who): Choice[] => {
    if (step === undefined) return [];
    const deaths = step.verb === "append" && cuts !== undefined ? cuts(step.length) : [];
    return [{ who, cut: undefined, step }, ...deaths.map((cut) => ({ who, cut, step }))];
  });
}

function has(choices: readonly Choice[], { who, cut }: Choice): boolean {
  return choices.some((choice) => choice.who === who && choice.cut === cut);
}

function independent(a: Step, b: Step): boolean {
  const touches = (step: Step, name: string): boolean => step.reads.includes(name) || step.writes.includes(name);
  return !a.writes.some((name) => touches(b, name)) && !b.writes.some((name) => touches(a, name));
}

/** One process of one run: waiting at its gate, ended, or dead. */
class Seat {
  waiting: Step | undefined;
  settled: Promise<void>;
  #settle: () => void = () => {};
  #permit: (permit: Permit) => void = () => {};
  #failure: unknown;
  #dead = false;

  constructor({ run }: Process) {
    this.settled = this.#unsettled();
    run((step) => this.#wait(step))
      .catch((error: unknown) => {
        this.#failure = error ?? new Error("failed");
      })
      .finally(() => this.#settle());
  }

  async go(cut: number | undefined): Promise<void> {
    this.waiting = undefined;
    this.settled = this.#unsettled();
    if (cut !== undefined) {
      // The bytes reach the disk, and the process never comes to another step.
      this.#dead = true;
    }
    this.#permit(cut === undefined ? undefined : { short: cut });
    await this.settled;
  }

  check(): void {
    if (this.#failure !== undefined && !this.#dead) throw this.#failure;
  }

  #wait = (step: Step): Promise<Permit> => {
    if (!this.#dead) this.waiting = step;
    this.#settle();
    return new Promise((resolve) => {
      this.#permit = resolve;
    });
  };

  #unsettled(): Promise<void> {
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }
}
