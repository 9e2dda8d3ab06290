/** The lock and its line by themselves: every sequence of arrivals, ends and departures up to a length, against a list. */

import { describe, expect, it, vi } from "vitest";
import { SessionLocks, type Turn } from "../src/session-locks.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

type Op = "arrive" | "unlock" | "first leaves" | "last leaves" | "all leave";
const OPS: readonly Op[] = ["arrive", "unlock", "first leaves", "last leaves", "all leave"];
const LENGTH = 5;
/** Whoever comes second to an empty session finds one with a line of none, so these are all beginnings. */
const BEGINNINGS: readonly (readonly Op[])[] = [["arrive"], ["arrive", "arrive", "arrive"]];

function* sequences(length: number): Generator<readonly Op[]> {
  if (length === 0) return yield [];
  for (const rest of sequences(length - 1)) for (const op of OPS) yield [...rest, op];
}

/** What happened to each run in the order of arrival: `called`, the word it left with, or nothing yet. */
class Play {
  readonly locks = new SessionLocks<number>();
  readonly fate = new Map<number, string>();
  readonly faults: string[] = [];
  readonly #turns = new Map<number, Turn>();
  /** The model: who has the lock, and behind him those who wait. */
  readonly #queue: number[] = [];
  #arrived = 0;

  do(op: Op): void {
    if (op === "arrive") this.#arrive();
    else if (op === "unlock") this.#unlock();
    else if (op === "first leaves") this.#leave(this.#queue.slice(1, 2));
    else if (op === "last leaves") this.#leave(this.#queue.slice(1).slice(-1));
    else this.#leave(this.#queue.slice(1));
    this.#agree();
  }

  /** All that were promised anything have it, once everybody has gone. */
  end(): void {
    while (this.#queue.length > 0) this.do("unlock");
  }

  get arrivals(): number {
    return this.#arrived;
  }

  #arrive(): void {
    const run = this.#arrived;
    this.#arrived += 1;
    const isFree = this.#queue.length === 0;
    this.#queue.push(run);
    this.#check(this.locks.take("s", run), isFree);
    if (isFree) return void this.fate.set(run, "called");
    const turn = this.locks.join("s", run);
    this.#turns.set(run, turn);
    turn.called.then(
      () => this.fate.set(run, "called"),
      (error: unknown) => this.fate.set(run, String(error)),
    );
  }

  #unlock(): void {
    const before = this.#queue.shift();
    if (before === undefined) return;
    this.locks.unlock("s");
    const next = this.#queue[0];
    // Called in this very turn: from here on there is no leaving, and the lock must be unlocked.
    if (next !== undefined) this.#check(this.#turns.get(next)?.leave("too late"), false);
  }

  #leave(runs: readonly number[]): void {
    for (const run of runs) {
      this.#check(this.#turns.get(run)?.leave("left"), true);
      this.#check(this.#turns.get(run)?.leave("twice"), false);
      this.#queue.splice(this.#queue.indexOf(run), 1);
    }
  }

  /** Written down and asserted once a play: there are very many. */
  #check(seen: unknown, expected: unknown): void {
    if (JSON.stringify([seen]) !== JSON.stringify([expected])) {
      this.faults.push(`${JSON.stringify(seen)} and not ${JSON.stringify(expected)}`);
    }
  }

  #agree(): void {
    const { locks } = this;
    const [holder, ...line] = this.#queue;
    const holders = holder === undefined ? [] : [holder];
    const seen = [locks.holderOf("s"), locks.lineOf("s"), locks.lineLength("s"), locks.waitingCount];
    this.#check(
      [...seen, [...locks.holders()], [...locks.waiting()]],
      [...[holder, line, line.length, line.length], ...[holders, line]],
    );
  }
}

describe("the line of a session", () => {
  it("calls everybody who stays, in the order of arrival, and nobody who left: every sequence", async () => {
    let played = 0;
    for (const beginning of BEGINNINGS) {
      for (const sequence of sequences(LENGTH)) {
        const play = new Play();
        for (const op of [...beginning, ...sequence]) play.do(op);
        play.end();
        await Promise.resolve();
        const kept = [...play.fate.values()].filter((fate) => fate === "called" || fate === "left");
        expect([sequence, play.faults, kept.length, play.locks.holderOf("s")]).toEqual([
          ...[sequence, [], play.arrivals, undefined],
        ]);
        played += 1;
      }
    }
    expect(played).toBe(BEGINNINGS.length * OPS.length ** LENGTH);
  });

  it("is that session's alone", () => {
    const locks = new SessionLocks<string>();
    locks.take("a", "a1");
    locks.join("a", "a2");
    expect(locks.take("b", "b1")).toBe(true);
    locks.unlock("b");
    expect([locks.holderOf("a"), locks.holderOf("b")]).toEqual(["a1", undefined]);
    locks.unlock("a");
    expect(locks.holderOf("a")).toBe("a2");
  });
});
