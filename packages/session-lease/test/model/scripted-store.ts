/**
 * A compare-and-set store that does nothing by itself. Every request waits until the scenario lets it through, with a
 * fate; what was applied is kept as history.
 *
 * Fates of a swap: *answered*; *lost reply* (applied, then `unknown-outcome`); *lost request* (never applied, then
 * `unknown-outcome`); *late* (`unknown-outcome` now, applied when the scenario says, if ever). Of a load: *answered*;
 * *failed* (`unavailable`).
 */

import {
  type CasStore,
  type LeaseRecord,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  type Loaded,
} from "../../src/index.js";
import type { ManualClock } from "./manual-clock.js";

export type Fate = "answered" | "failed" | "lost reply" | "lost request" | "late";
export const LOAD_FATES: readonly Fate[] = ["answered", "failed"];
export const SWAP_FATES: readonly Fate[] = ["answered", "lost reply", "lost request", "late"];

export type Applied = Readonly<{
  before: LeaseRecord | undefined;
  after: LeaseRecord | undefined;
  /** When it was sent, on the clock that never steps, and what the wall clock said then. */
  sentAt: number;
  sentWall: number;
  late: boolean;
}>;

export type Waiting = Readonly<{
  fates: readonly Fate[];
  meet: (fate: Fate) => void;
  /** It may be a step of giving a hold back: a load, or the swap of a release. */
  mayGiveBack: boolean;
}>;

export class ScriptedStore {
  readonly history: Applied[] = [];
  readonly waiting: Waiting[] = [];
  /** Swaps still on their way although their sender has been told that nothing is known. */
  readonly underway: (() => void)[] = [];
  record: LeaseRecord | undefined;
  #version = 0;
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  /** One process's way to the store. `remembering`: swaps answer with the new version. */
  connection(remembering: boolean): CasStore<number> {
    return {
      load: () => this.#park<Loaded<number>>(LOAD_FATES, true, () => this.#look()),
      swap: (_id, version, next) => {
        const sent = { sentAt: this.#clock.monotonic(), sentWall: this.#clock.wall() };
        const apply = (late: boolean) => this.#apply(version, next, { ...sent, late });
        return this.#park(
          SWAP_FATES,
          next?.standing !== "held",
          () => (apply(false) ? (remembering ? { version: this.#version } : true) : false),
          apply,
        );
      },
    };
  }

  #look(): Loaded<number> {
    return this.record === undefined ? undefined : { record: this.record, version: this.#version };
  }

  #apply(
    version: number | undefined,
    after: LeaseRecord | undefined,
    sent: Omit<Applied, "before" | "after">,
  ): boolean {
    const present = this.record === undefined ? undefined : this.#version;
    if (present !== version) return false;
    this.history.push({ before: this.record, after, ...sent });
    this.record = after;
    this.#version += 1;
    return true;
  }

  #park<T>(
    fates: readonly Fate[],
    mayGiveBack: boolean,
    answer: () => T,
    apply?: (late: boolean) => boolean,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const meet = (fate: Fate): void => {
        this.waiting.splice(this.waiting.indexOf(request), 1);
        if (fate === "lost reply") apply?.(false);
        if (fate === "late") this.underway.push(() => void apply?.(true));
        if (fate === "answered") resolve(answer());
        else if (fate === "failed") reject(new LeaseUnavailableError("the store did not answer"));
        else reject(new LeaseUnknownOutcomeError("the reply was lost"));
      };
      const request = { fates, meet, mayGiveBack };
      this.waiting.push(request);
    });
  }
}
