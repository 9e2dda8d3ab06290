/**
 * When, on the authority's clock, a call can have been judged: between what that clock showed when the call was made and
 * what it showed when the call returned, give or take the stated skew, and more if the clock was stepped meanwhile.
 *
 * Two sources, never mixed. Where events carry `wall` (or the history states the `epoch`), those readings. Where none does,
 * the grants tell: each reveals its own instant exactly, `expiry - ttl`, and the clock had not passed it when that call was
 * made and had reached it when that call returned. A call that follows it is judged no earlier, one before it no later.
 */

import type { FaultEvent } from "./event.js";
import type { Call, History, Ordered } from "./history.js";

export type Span = Readonly<{
  /** Epoch ms, whole, both included. */
  from: number;
  to: number;
  /** Order in the history before which the call is judged. */
  before: number;
}>;

/** A point of the history. */
export type Instant = Readonly<{ order: number; at: number; wall?: number | undefined }>;

type Reading = Readonly<{ order: number; wall: number }>;

export class AuthorityTime {
  readonly #history: History;
  readonly #steps: readonly Ordered<FaultEvent>[];
  readonly #reads: boolean;
  /** By order: the highest instant that grants returned so far have revealed. Nothing before the last step backwards. */
  readonly #floors: Reading[] = [];
  /** By order: the lowest instant that grants asked for from here on will reveal. Nothing after the next step backwards. */
  readonly #ceilings: Reading[] = [];

  constructor(history: History) {
    this.#history = history;
    this.#steps = history.faults.filter(({ fault }) => fault === "step");
    this.#reads =
      history.epoch !== undefined ||
      history.events.some(
        (event) => (event.event === "invoke" || event.event === "return") && event.wall !== undefined,
      );
    if (!this.#reads) this.#learnFromGrants();
  }

  /** `call`, if it is judged before `until`. A call whose outcome is unknown may be judged long after its own return. */
  span({ invoke, returned, end }: Call, until: Instant): Span {
    const { skew } = this.#history;
    const ended: Instant = returned !== undefined && end < until.order ? returned : until;
    const from = (this.#reads ? this.#read(invoke) : lastBefore(this.#floors, invoke.order)) ?? 0;
    const to = (this.#reads ? this.#read(ended) : firstAfter(this.#ceilings, ended.order)) ?? Number.POSITIVE_INFINITY;
    const stepped = this.#stepped(invoke.order, ended.order);
    const [low, high] = stepped === 0 ? [from, to] : [Math.min(from, to) - stepped, Math.max(from, to) + stepped];
    return { from: Math.max(Math.floor(low - skew), 0), to: Math.ceil(high + skew), before: until.order };
  }

  #read({ at, order, wall }: Instant): number | undefined {
    if (wall !== undefined) return wall;
    const { epoch } = this.#history;
    if (epoch === undefined) return undefined;
    const past = this.#steps.filter((step) => step.order < order);
    return epoch + at + past.reduce((sum, { by = 0 }) => sum + by, 0);
  }

  #stepped(from: number, to: number): number {
    let sum = 0;
    for (const { order, by = 0 } of this.#steps) if (order > from && order < to) sum += Math.abs(by);
    return sum;
  }

  #learnFromGrants(): void {
    const backwards = this.#steps.filter(({ by = 0 }) => by < 0).map(({ order }) => order);
    const returned: Reading[] = [];
    const asked: Reading[] = [];
    for (const { invoke, returned: event, answer } of this.#history.calls) {
      if (answer.answer !== "granted" || event === undefined) continue;
      const wall = answer.expiry - answer.ttl;
      returned.push({ order: event.order, wall });
      asked.push({ order: invoke.order, wall });
    }
    returned.sort((a, b) => a.order - b.order);
    for (const reading of returned) {
      const last = this.#floors.at(-1);
      const steppedBack = last !== undefined && backwards.some((step) => step > last.order && step < reading.order);
      const wall = last === undefined || steppedBack ? reading.wall : Math.max(last.wall, reading.wall);
      this.#floors.push({ order: reading.order, wall });
    }
    for (const step of backwards) this.#floors.push({ order: step, wall: 0 });
    this.#floors.sort((a, b) => a.order - b.order);
    for (const reading of asked.reverse()) {
      const next = this.#ceilings.at(-1);
      const steppedBack = next !== undefined && backwards.some((step) => step < next.order && step > reading.order);
      const wall = next === undefined || steppedBack ? reading.wall : Math.min(next.wall, reading.wall);
      this.#ceilings.push({ order: reading.order, wall });
    }
    for (const step of backwards) this.#ceilings.push({ order: step, wall: Number.POSITIVE_INFINITY });
    this.#ceilings.sort((a, b) => a.order - b.order);
  }
}

function lastBefore(readings: readonly Reading[], order: number): number | undefined {
  return readings[countWhile(readings, (reading) => reading.order < order) - 1]?.wall;
}

function firstAfter(readings: readonly Reading[], order: number): number | undefined {
  return readings[countWhile(readings, (reading) => reading.order <= order)]?.wall;
}

/** How many readings, which are in order, come before the first that `isBefore` refuses. */
function countWhile(readings: readonly Reading[], isBefore: (reading: Reading) => boolean): number {
  let [low, high] = [0, readings.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const reading = readings[middle];
    if (reading !== undefined && isBefore(reading)) low = middle + 1;
    else high = middle;
  }
  return low;
}
