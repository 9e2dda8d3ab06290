import type { Fate, Weather } from "../engine/network.js";
import type { SimProcess } from "../engine/sim-process.js";
import type { DiskWeather } from "./file-calls.js";
import type { Fault, FaultKind, Scenario } from "./scenario.js";

/** What the faults that last do to single messages and single steps of the disk. */
export class FaultWeather implements Weather, DiskWeather {
  readonly #faults: readonly Fault[];
  readonly #now: () => number;
  readonly #struck: (kind: FaultKind) => void;

  /** `struck` hears of each fault that has befallen something. */
  constructor({ faults }: Scenario, now: () => number, struck: (kind: FaultKind) => void) {
    this.#faults = faults.filter(({ lasts }) => lasts > 0);
    this.#now = now;
    this.#struck = struck;
  }

  fateOf(sender: SimProcess): Fate {
    const { random } = sender;
    const latency = (): number => random.between(0.3, 4);
    const strikes = (kind: FaultKind, chance: number): boolean => this.#strikes(kind, sender, chance);
    const late = (): number => {
      if (strikes("delay", 0.5)) return random.between(50, 2_500);
      return strikes("reorder", 0.6) ? random.between(0.3, 250) : latency();
    };
    return {
      there: late(),
      back: late(),
      dropRequest: strikes("drop-request", 0.4),
      dropReply: strikes("drop-reply", 0.4),
      duplicate: strikes("duplicate", 0.5),
      again: random.chance(0.5) ? latency() : random.between(1, 2_000),
    };
  }

  step(process: SimProcess): number {
    const { random } = process;
    return this.#strikes("slow-disk", process, 0.5) ? random.between(1, 250) : random.between(0.05, 0.8);
  }

  isFull(process: SimProcess): boolean {
    return this.#strikes("disk-full", process, 0.4);
  }

  #strikes(kind: FaultKind, process: SimProcess, chance: number): boolean {
    const now = this.#now();
    const reigns = this.#faults.some(
      (fault) =>
        fault.kind === kind && fault.at <= now && now < fault.at + fault.lasts && concerns(fault, process.name),
    );
    if (!reigns || !process.random.chance(chance)) return false;
    this.#struck(kind);
    return true;
  }
}

/** Incarnations of a holder are called after it: `ann`, `ann-2`. */
function concerns({ target }: Fault, name: string): boolean {
  return target === "all" || name === target || name.startsWith(`${target}-`);
}
