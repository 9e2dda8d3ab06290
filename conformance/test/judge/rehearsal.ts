/**
 * A few processes that use `casLease` over one map, on a fake clock, with a recorder each: what the judge is shown that it
 * must accept. The store answers late, loses replies, loses requests, and lets swaps arrive after they were given up.
 */

import {
  casLease,
  type FullSessionLease,
  type Lease,
  type LeaseRecord,
  LeaseUnknownOutcomeError,
} from "@leasehold/session-lease";
import { FakeClock } from "../../src/index.js";
import { MemorySink, Recorder } from "../../src/judge/index.js";

export type Move = Readonly<{
  process: number;
  session: number;
  op: "acquire" | "again" | "renew" | "reclaim" | "release" | "transfer" | "force" | "ask" | "inspect" | "wait";
  /** Ms before the move. */
  pause: number;
  /** Ms after which the caller gives up; never unless given. */
  patience?: number | undefined;
}>;

export type Trouble = Readonly<{
  /** Ms that the store takes, from 0 on. */
  latency: number;
  fate: "fine" | "reply lost" | "request lost" | "applied late" | "not to be guessed";
}>;

export const TTL = 100;
const FINE: Trouble = { latency: 0, fate: "fine" };

/** Plays the moves, those of one process one after another, and returns the history as a file. `troubles` strike swaps in turn. */
export async function rehearse(moves: readonly Move[], troubles: readonly Trouble[] = []): Promise<string> {
  const clock = new FakeClock({ wall: 5000, monotonic: 1000 });
  const sink = new MemorySink();
  const store = new TroubledStore(clock, troubles);
  const processes = [...new Set(moves.map(({ process }) => process))];
  new Recorder({ sink, process: "harness", clock }).meta({ ttl: TTL, retries: troubles.length > 0 });
  const done = Promise.all(
    processes.map(async (process) => {
      const recorder = new Recorder({ sink, process: `p${process}`, clock, authority: () => clock.wall() });
      const lease = recorder.lease(store.lease());
      const actor = new Actor(`p${process}`, lease, clock);
      for (const move of moves) if (move.process === process) await actor.make(move);
    }),
  );
  let ended = false;
  void done.finally(() => {
    ended = true;
  });
  while (!ended) await clock.advance(1000);
  await done;
  return sink.text;
}

class Actor {
  readonly #name: string;
  readonly #lease: FullSessionLease;
  readonly #clock: FakeClock;
  readonly #holds = new Map<string, Lease>();
  #attempts = 0;

  constructor(name: string, lease: FullSessionLease, clock: FakeClock) {
    this.#name = name;
    this.#lease = lease;
    this.#clock = clock;
  }

  async make({ session, op, pause, patience }: Move): Promise<void> {
    if (pause > 0) await wait(this.#clock, pause);
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const timer = patience === undefined ? undefined : this.#clock.schedule(() => giveUp.abort(), patience);
    // Refusals and troubles are what the history is about; the judge sees them, the actor goes on.
    await this.#do(`s${session}`, op, patience === undefined ? {} : { signal }).catch(() => undefined);
    timer?.cancel();
  }

  async #do(session: string, op: Move["op"], options: { signal?: AbortSignal }): Promise<void> {
    const hold = this.#holds.get(session);
    const keep = (lease: Lease): void => void this.#holds.set(session, lease);
    switch (op) {
      case "acquire":
        return keep(await this.#lease.acquire(session, this.#owner(), options));
      case "force":
        return void (await this.#lease.forceRelease(session, options));
      case "ask":
        return void (await this.#lease.requestRelease(session, options));
      case "inspect":
        return void (await this.#lease.inspect(session, options));
    }
    if (hold === undefined || op === "wait") return;
    switch (op) {
      case "again":
        return keep(await this.#lease.acquire(session, hold.owner, options));
      case "renew":
      case "reclaim":
        return keep(await this.#lease.renew(hold, { ...options, reclaimExpired: op === "reclaim" }));
      case "release":
        return void (await this.#lease.release(hold, options));
      case "transfer":
        return keep(await this.#lease.transfer(hold, this.#owner(), options));
    }
  }

  #owner(): string {
    this.#attempts += 1;
    return `${this.#name}-${this.#attempts}`;
  }
}

class TroubledStore {
  readonly #clock: FakeClock;
  readonly #troubles: readonly Trouble[];
  readonly #kept = new Map<string, { record: LeaseRecord; version: number }>();
  #swaps = 0;
  #versions = 0;

  constructor(clock: FakeClock, troubles: readonly Trouble[]) {
    this.#clock = clock;
    this.#troubles = troubles;
  }

  lease(): FullSessionLease {
    return casLease<number>({
      name: "rehearsal",
      ttl: TTL,
      clock: this.#clock,
      forgetAfter: 3_600_000,
      random: () => 0.5,
      load: async (session) => {
        if (this.#troubles.length > 0) await wait(this.#clock, this.#next().latency);
        return this.#kept.get(session);
      },
      swap: (session, version, next) => this.#swap(session, version, next),
    });
  }

  async #swap(session: string, version: number | undefined, next: LeaseRecord | undefined): Promise<boolean> {
    const { latency, fate } = this.#next();
    if (latency > 0) await wait(this.#clock, latency);
    if (fate === "fine") return this.#apply(session, version, next);
    if (fate === "applied late") this.#clock.schedule(() => this.#apply(session, version, next), 3 * latency + 1);
    else if (fate !== "request lost") this.#apply(session, version, next);
    throw new LeaseUnknownOutcomeError("no reply", { retryable: fate === "reply lost" });
  }

  #apply(session: string, version: number | undefined, record: LeaseRecord | undefined): boolean {
    if (this.#kept.get(session)?.version !== version) return false;
    this.#versions += 1;
    if (record === undefined) this.#kept.delete(session);
    else this.#kept.set(session, { record, version: this.#versions });
    return true;
  }

  #next(): Trouble {
    this.#swaps += 1;
    return this.#troubles[this.#swaps % this.#troubles.length] ?? FINE;
  }
}

function wait(clock: FakeClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(resolve, ms);
  });
}
