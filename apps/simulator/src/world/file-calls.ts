/**
 * The system calls of one process: each takes its time to begin, has its effect in one step, and takes time to be heard of.
 *
 * A process that is stopped may be stopped before the effect or after it. One that is killed may still have its effect,
 * whole or, for a write, of any length.
 */

import type { SimProcess } from "../engine/sim-process.js";
import type { Timeline } from "../engine/timeline.js";
import { errno } from "./disk.js";

export interface DiskWeather {
  /** Ms that one step of this process takes now. */
  step(process: SimProcess): number;
  isFull(process: SimProcess): boolean;
}

/** `length`: bytes that reach the disk of those to be written. */
export type Effect<T> = (length: number) => T;

type InFlight = { readonly apply: () => void; readonly kill: () => void };

export class FileCalls {
  readonly process: SimProcess;
  readonly #timeline: Timeline;
  readonly #weather: DiskWeather;
  readonly #inFlight = new Set<InFlight>();
  readonly #held: InFlight[] = [];

  constructor(process: SimProcess, timeline: Timeline, weather: DiskWeather) {
    this.process = process;
    this.#timeline = timeline;
    this.#weather = weather;
    process.onKill.push(() => {
      for (const call of [...this.#inFlight]) call.kill();
    });
    process.onContinue.push(() => {
      for (const call of this.#held.splice(0)) this.#timeline.after(0, call.apply);
    });
  }

  step<T>(effect: () => T): Promise<T> {
    return this.write(0, effect);
  }

  /** ENOSPC while the disk is full. */
  create<T>(path: string, length: number, effect: Effect<T>): Promise<T> {
    return this.write(length, (bytes) => {
      if (this.#weather.isFull(this.process)) throw errno("ENOSPC", path);
      return effect(bytes);
    });
  }

  /** Of a full disk some part of the bytes. */
  append(length: number, effect: Effect<number>): Promise<number> {
    return this.write(length, (bytes) =>
      effect(this.#weather.isFull(this.process) ? this.process.random.whole(0, bytes - 1) : bytes),
    );
  }

  write<T>(length: number, effect: Effect<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { random } = this.process;
      const answer = (settle: () => void): void => {
        this.#timeline.after(this.#weather.step(this.process), () => this.process.deliver(settle));
      };
      const call: InFlight = {
        apply: () => {
          if (!this.#inFlight.has(call)) return;
          if (this.process.isStopped && random.chance(0.7)) {
            this.#held.push(call);
            return;
          }
          this.#inFlight.delete(call);
          try {
            const result = effect(length);
            answer(() => resolve(result));
          } catch (error) {
            answer(() => reject(error));
          }
        },
        kill: () => {
          this.#inFlight.delete(call);
          if (!random.chance(0.6)) return;
          try {
            effect(random.chance(0.5) ? length : random.whole(0, length));
          } catch {
            // Nobody hears of it.
          }
        },
      };
      this.#inFlight.add(call);
      this.#timeline.after(this.#weather.step(this.process), call.apply);
    });
  }
}
