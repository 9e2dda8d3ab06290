/**
 * The real code over a simulated directory, in every interleaving of a few processes that a bounded number of stops can
 * bring about. Contract 4.3, 4.4.
 */

import { expect, test } from "vitest";
import { type Exploration, exploreAll, type RunReport, type Schedule, Violation } from "./simulation/schedule.js";
import type { Flaw } from "./simulation/simulated-disk.js";
import { FORGET_AFTER, SimulatedHost, type SimulatedProcess, TTL } from "./simulation/simulated-host.js";

/** Ms: a minute of work, on a machine with other things to do. */
const HUNG = 600_000;

type Programs = Readonly<Record<string, () => Promise<unknown>>>;
type Scenario = (host: SimulatedHost, process: (name: string) => Promise<SimulatedProcess>) => Promise<Programs>;

type Manner = Readonly<{ flaw?: Flaw; onEnd?: (host: SimulatedHost) => void }>;

function explore(bounds: Exploration, scenario: Scenario, { flaw, onEnd }: Manner = {}): Promise<RunReport> {
  return exploreAll(bounds, async (schedule: Schedule) => {
    const host = new SimulatedHost(schedule, flaw);
    const programs = await scenario(host, (name) => host.process(name));
    const running = Object.entries(programs).map(([name, run]) => [name, async () => void (await run())] as const);
    if (!(await schedule.explore(Object.fromEntries(running), host.check))) return;
    onEnd?.(host);
    await host.checkEnd();
  });
}

const threeAcquire: Scenario = async (_, process) => {
  const [a, b, c] = [await process("a"), await process("b"), await process("c")];
  return { a: () => a.acquire(), b: () => b.acquire(), c: () => c.acquire() };
};

const twoTakeOver: Scenario = async (host, process) => {
  const [old, a, b] = [await process("old"), await process("a"), await process("b")];
  await old.acquire();
  host.now += TTL;
  return { a: () => a.acquire(), b: () => b.acquire() };
};

const SCENARIOS: Readonly<Record<string, readonly [Exploration, Scenario]>> = {
  "three acquire a new session": [{ preemptions: 2, mostRuns: 20_000 }, threeAcquire],
  "two take over an expired session": [{ preemptions: 3, mostRuns: 20_000 }, twoTakeOver],
  "two take over, one is killed": [{ preemptions: 2, killable: ["a", "b"], mostRuns: 20_000 }, twoTakeOver],
  "a holder renews while its lease runs out and another takes over": [
    { preemptions: 2, mostRuns: 20_000 },
    async (host, process) => {
      const [a, b] = [await process("a"), await process("b")];
      await a.acquire();
      return { a: () => a.renew(), time: () => host.pass(TTL), b: () => b.acquire() };
    },
  ],
  "an expired holder reclaims, another takes over and lets go": [
    { preemptions: 2, mostRuns: 20_000 },
    async (host, process) => {
      const [a, b] = [await process("a"), await process("b")];
      await a.acquire();
      host.now += TTL;
      return {
        a: () => a.renew({ reclaimExpired: true }),
        b: async () => {
          await b.acquire();
          await b.release();
        },
      };
    },
  ],
  "a holder releases, acquires again and renews against two others": [
    { preemptions: 2, mostRuns: 20_000 },
    async (_, process) => {
      const [a, b, c] = [await process("a"), await process("b"), await process("c")];
      await a.acquire();
      return { a: () => a.release(), b: () => b.acquire(), c: () => c.acquire() };
    },
  ],
  "a forgotten session is acquired by two": [
    { preemptions: 2, mostRuns: 20_000 },
    async (host, process) => {
      const [old, f, a, b] = [await process("old"), await process("f"), await process("a"), await process("b")];
      await old.acquire();
      host.now += TTL + 2 * FORGET_AFTER;
      return { f: () => f.forget(), a: () => a.acquire(), b: () => b.acquire() };
    },
  ],
  "a writer is held up while its session is forgotten, acquired and forgotten again": [
    { preemptions: 2, mostRuns: 20_000 },
    async (host, process) => {
      const [old, f, a, b] = [await process("old"), await process("f"), await process("a"), await process("b")];
      await old.acquire();
      await old.release();
      host.now += TTL + 2 * FORGET_AFTER;
      return {
        a: () => a.acquire(),
        b: async () => {
          await f.forget();
          await b.acquire();
          await b.release();
          await host.pass(TTL + 2 * FORGET_AFTER);
          await f.forget();
        },
      };
    },
  ],
  "a record is deleted by hand under a holder that renews": [
    { preemptions: 2, mostRuns: 20_000 },
    async (host, process) => {
      const [a, hand, b] = [await process("a"), await process("hand"), await process("b")];
      await a.acquire();
      host.now += 10;
      return { a: () => a.renew(), hand: () => hand.wipe(), b: () => b.acquire() };
    },
  ],
  "a corrupt record is repaired by force while two acquire": [
    { preemptions: 2, mostRuns: 20_000 },
    async (host, process) => {
      const [old, f, a, b] = [await process("old"), await process("f"), await process("a"), await process("b")];
      await old.acquire();
      for (const name of host.disk.names(host.stem)) host.disk.put(`${host.stem}/${name}`, "");
      host.now += 10;
      host.wiped = true;
      return { f: () => f.force(), a: () => a.acquire(), b: () => b.acquire() };
    },
  ],
};

for (const [name, [bounds, scenario]] of Object.entries(SCENARIOS)) {
  test(name, { timeout: HUNG }, async () => {
    const { runs, complete } = await explore(bounds, scenario);
    expect(complete).toBe(true);
    expect(runs).toBeGreaterThan(100);
  });
}

test("a hold that was wiped does not live on when its holder is asked to let go", { timeout: HUNG }, async () => {
  const scenario: Scenario = async (host, process) => {
    const [a, b] = [await process("a"), await process("b")];
    await a.acquire();
    host.now += 10;
    return { a: () => a.renew(), hand: () => host.wipe(), b: () => b.ask() };
  };
  const onEnd = (host: SimulatedHost): void => {
    const kept = host.disk.names(host.stem).map((name) => host.disk.text(`${host.stem}/${name}`) ?? "");
    if (kept.some((text) => text.includes('"standing":"held"'))) throw new Violation(`lives on: ${kept.join()}`);
  };
  const { runs, complete } = await explore({ preemptions: 2, mostRuns: 20_000 }, scenario, { onEnd });
  expect(complete).toBe(true);
  expect(runs).toBeGreaterThan(100);
});

/** Those of which all interleavings take but a moment. */
const SMALL = Object.entries(SCENARIOS).filter(([name]) => /take over|takes over/.test(name));

test.each(SMALL)("what is left out has no outcome of its own: %s", { timeout: HUNG }, async (_, [bounds, scenario]) => {
  const outcomes = async (each: boolean): Promise<ReadonlySet<string>> => {
    const seen = new Set<string>();
    const note = ({ outcome }: SimulatedHost): void => void seen.add(outcome);
    const { runs, complete } = await explore({ ...bounds, each }, scenario, { onEnd: note });
    expect(complete).toBe(true);
    expect(runs).toBeGreaterThan(seen.size);
    return seen;
  };
  expect(await outcomes(false)).toEqual(await outcomes(true));
});

const FLAWS: Readonly<Record<Flaw, Scenario>> = {
  "link overwrites": twoTakeOver,
  "rename onto a full directory": threeAcquire,
  "rmdir of a full directory": twoTakeOver,
};

for (const [flaw, scenario] of Object.entries(FLAWS) as [Flaw, Scenario][]) {
  test(`the exploration notices a disk with this flaw: ${flaw}`, { timeout: HUNG }, async () => {
    await expect(explore({ preemptions: 2, mostRuns: 20_000 }, scenario, { flaw })).rejects.toBeInstanceOf(Violation);
  });
}
