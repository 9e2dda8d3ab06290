/**
 * The real client and the real server over a network that may deliver, delay and lose every message, in every order, with one
 * connection lost and one ttl passing at any point. A request whose sender was told that the connection is lost may arrive
 * all the same. What a holder believes is judged by the arithmetic of the port.
 *
 * Each world runs from its start along a path of choices; the last choice that has an alternative is changed until none has.
 */

import { FakeClock } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";
import {
  type FullSessionLease,
  forwardLease,
  type Lease,
  type LeaseRef,
  type Moment,
  momentOf,
  remainingValidity,
  type SessionLease,
} from "@leasehold/session-lease";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grpcdriver } from "../src/index.js";
import { Network } from "./network.js";

const TTL = 1_000;
const MOST_RUNS = 10_000;

/** Most of the time would go into the stacks of errors that nobody looks at. */
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

/** Choices made so far, and how many there were at each. */
class Path {
  readonly #taken: { choice: number; of: number }[];
  #at = 0;

  constructor(taken: { choice: number; of: number }[]) {
    this.#taken = taken;
  }

  choose(of: number): number {
    const step = this.#taken[this.#at] ?? { choice: 0, of };
    this.#taken[this.#at] = step;
    this.#at += 1;
    return step.choice;
  }

  /** The next path in order; undefined after the last. */
  next(): Path | undefined {
    const taken = this.#taken.slice(0, this.#at);
    for (let last = taken.pop(); last !== undefined; last = taken.pop()) {
      if (last.choice + 1 < last.of) return new Path([...taken, { choice: last.choice + 1, of: last.of }]);
    }
    return undefined;
  }
}

/** Who holds, as far as it knows: from the request that was confirmed last. */
interface Belief {
  readonly lease: Lease;
  readonly since: Moment;
}

class Holder {
  belief: Belief | undefined;
  readonly #lease: SessionLease;
  readonly #clock: FakeClock;
  readonly #fromReply: boolean;
  #releases = 0;

  constructor(lease: SessionLease, clock: FakeClock, fromReply: boolean) {
    this.#lease = lease;
    this.#clock = clock;
    this.#fromReply = fromReply;
  }

  isValid(): boolean {
    if (this.belief === undefined) return false;
    return remainingValidity(this.belief.since, this.belief.lease.ttl, momentOf(this.#clock)) > 0;
  }

  async acquire(owner: string): Promise<void> {
    await this.#confirmed(() => this.#lease.acquire("s", owner));
  }

  async renew(): Promise<void> {
    const { lease } = this.belief ?? {};
    if (lease !== undefined) await this.#confirmed(() => this.#lease.renew(lease));
  }

  async release(): Promise<void> {
    const { lease } = this.belief ?? {};
    // It believes nothing any more before the request is sent, and no answer that was on its way then.
    this.belief = undefined;
    this.#releases += 1;
    if (lease !== undefined) await this.#lease.release(lease).catch(() => undefined);
  }

  async #confirmed(call: () => Promise<Lease>): Promise<void> {
    const sent = momentOf(this.#clock);
    const releases = this.#releases;
    try {
      const lease = await call();
      if (releases === this.#releases) this.belief = { lease, since: this.#fromReply ? momentOf(this.#clock) : sent };
    } catch (error) {
      if ((error as { code?: string }).code === "held") this.belief = undefined;
    }
  }
}

type Flaw = "validity from the answer" | "a release that names nobody";

/** A backend with a flaw that a late message brings out. */
function flawed(backend: FullSessionLease, flaw: Flaw | undefined): FullSessionLease {
  if (flaw === "a release that names nobody") {
    return forwardLease(backend, {
      release: async ({ sessionId }: LeaseRef) => ((await backend.forceRelease(sessionId)) ? "released" : "absent"),
    });
  }
  return backend;
}

/** What two clients do, each in its own order; the world decides when. */
interface Scenario {
  /** The first holds the session at the start. */
  readonly held: boolean;
  readonly programs: (a: Holder, b: Holder) => (() => Promise<void>)[][];
  /** Connections that may be lost. */
  readonly losses: number;
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "two acquire": { held: false, programs: (a, b) => [[() => a.acquire("a-1")], [() => b.acquire("b-1")]], losses: 1 },
  "a holder renews, another acquires": {
    held: true,
    programs: (a, b) => [[() => a.renew()], [() => b.acquire("b-1")]],
    losses: 1,
  },
  "a holder releases and acquires again, another acquires": {
    held: true,
    programs: (a, b) => [
      [
        async () => {
          // Both are under way at once, and may arrive in either order.
          await Promise.all([a.release(), a.acquire("a-2")]);
        },
      ],
      [() => b.acquire("b-1")],
    ],
    losses: 0,
  },
};

/** One world along one path, to its end. Throws when two are valid at once, or a token falls. */
async function run(path: Path, { held, programs: toDo, losses }: Scenario, flaw?: Flaw): Promise<void> {
  const clock = new FakeClock({ settle: turn });
  const network = new Network(flawed(memlease({ clock, ttl: TTL }), flaw), clock);
  const open = (client: string): Promise<FullSessionLease> =>
    grpcdriver({ target: "localhost:1", transport: network.transport(client), clock, ttl: TTL });
  const fromReply = flaw === "validity from the answer";
  const a = new Holder(await open("a"), clock, fromReply);
  const b = new Holder(await open("b"), clock, fromReply);
  if (held) await a.acquire("a-0");
  network.packets.length = 0;
  network.open = false;
  let highest = 0n;
  const check = (): void => {
    if (a.isValid() && b.isValid()) throw new Violation("two holders at once");
    for (const { belief } of [a, b])
      if (belief !== undefined && belief.lease.token > highest) highest = belief.lease.token;
    const token = [a, b].find((holder) => holder.isValid())?.belief?.lease.token;
    if (token !== undefined && token < highest) throw new Violation("a lower token is believed after a higher one");
  };

  const programs = toDo(a, b);
  let lossesLeft = losses;
  let timesLeft = 1;
  for (;;) {
    const moves: (() => unknown)[] = [];
    for (const program of programs) {
      const [first] = program;
      if (first === undefined) continue;
      moves.push(() => {
        program.shift();
        void first();
      });
    }
    for (const packet of network.packets) {
      if (!packet.arrived) moves.push(() => packet.arrive());
      else if (!packet.over) moves.push(() => packet.answer());
      if (packet.over || lossesLeft === 0) continue;
      moves.push(() => {
        lossesLeft -= 1;
        packet.lose();
      });
    }
    if (moves.length === 0) return;
    if (timesLeft > 0) {
      moves.push(() => {
        timesLeft -= 1;
        return clock.advance(TTL);
      });
    }
    await moves[path.choose(moves.length)]?.();
    await turn();
    check();
  }
}

class Violation extends Error {}

/** Longer than any chain of promises here; nothing leaves this process's memory. */
async function turn(): Promise<void> {
  for (let step = 0; step < 60; step += 1) await undefined;
}

async function explore(scenario: Scenario, flaw?: Flaw): Promise<{ runs: number; complete: boolean }> {
  let path: Path | undefined = new Path([]);
  let runs = 0;
  for (; path !== undefined && runs < MOST_RUNS; path = path.next()) {
    await run(path, scenario, flaw);
    runs += 1;
  }
  return { runs, complete: path === undefined };
}

test.each(Object.entries(SCENARIOS))(
  "never two holders, never a lower token: %s",
  { timeout: 300_000 },
  async (_, scenario) => {
    const { runs, complete } = await explore(scenario);
    expect(complete).toBe(true);
    expect(runs).toBeGreaterThan(100);
  },
);

describe("the exploration notices", () => {
  test.each<[Flaw, string]>([
    ["validity from the answer", "a holder renews, another acquires"],
    ["a release that names nobody", "a holder releases and acquires again, another acquires"],
  ])("%s", { timeout: 300_000 }, async (flaw, name) => {
    await expect(explore(SCENARIOS[name] as Scenario, flaw)).rejects.toBeInstanceOf(Violation);
  });
});
