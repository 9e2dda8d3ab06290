/**
 * True time, and all that will happen in it. One event at a time: after each, every promise that can settle does, so that
 * between two events the world stands still and nothing depends on how fast the machine is.
 *
 * Times are ms since the world began. Events of one instant happen in the order in which they were planned.
 */

import { Settling } from "./settling.js";

const MOST_AT_ONCE = 20_000;

export interface Planned {
  cancel(): void;
}

type Entry = { readonly at: number; readonly order: number; run: (() => void) | undefined };

export class Timeline {
  readonly #heap: Entry[] = [];
  readonly #settling = new Settling();
  #now = 0;
  #planned = 0;

  get now(): number {
    return this.#now;
  }

  /** Plans something for `at`, or for now if that has passed. */
  at(at: number, run: () => void): Planned {
    this.#planned += 1;
    const entry: Entry = { at: Math.max(at, this.#now), order: this.#planned, run };
    push(this.#heap, entry);
    return {
      cancel: () => {
        entry.run = undefined;
      },
    };
  }

  after(delay: number, run: () => void): Planned {
    return this.at(this.#now + delay, run);
  }

  /** Lets the world happen until `end`, or until `isOver` says so after an event. What an event throws is thrown here. */
  async run(end: number, isOver: () => boolean = () => false): Promise<void> {
    await this.#settling.settled();
    let atOnce = 0;
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      pop(this.#heap);
      if (next.run === undefined) continue;
      atOnce = next.at > this.#now ? 0 : atOnce + 1;
      if (atOnce > MOST_AT_ONCE) throw new Error(`${MOST_AT_ONCE} events at ${this.#now}: something goes in circles`);
      this.#now = next.at;
      next.run();
      await this.#settling.settled();
      if (isOver()) return;
    }
    if (Number.isFinite(end)) this.#now = Math.max(this.#now, end);
  }
}

const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || before(parent, entry)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const [one, other] = [heap[left], heap[left + 1]];
    if (one === undefined) break;
    const child = other !== undefined && before(other, one) ? left + 1 : left;
    const smaller = heap[child];
    if (smaller === undefined || before(last, smaller)) break;
    heap[at] = smaller;
    at = child;
  }
  heap[at] = last;
}
