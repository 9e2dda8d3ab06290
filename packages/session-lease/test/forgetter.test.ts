import { expect, test } from "vitest";
import { casLease, LeaseUnavailableError } from "../src/index.js";
import { ManualClock, settled } from "./model/manual-clock.js";
import { MapStore } from "./model/map-store.js";

const TTL = 1000;
const FORGET_AFTER = 5000;
/** Ms by which a pass may come later than the first record is due. */
const GATHER = 1000;

function world(map = new MapStore(), store = map.store()) {
  const clock = new ManualClock();
  return { map, clock, lease: casLease({ ...store, name: "test", clock, ttl: TTL, forgetAfter: FORGET_AFTER }) };
}

async function pass(clock: ManualClock, ms: number): Promise<void> {
  clock.elapse(ms);
  await settled();
}

test("a dead record stays for forgetAfter, then goes; the next token is higher, the clock stepped back or not", async () => {
  const { map, clock, lease } = world();
  const first = await lease.acquire("s", "o");
  await lease.release(first);
  await pass(clock, FORGET_AFTER - 1);
  expect(map.records.size).toBe(1);
  await pass(clock, GATHER + 1);
  expect(map.records.size).toBe(0);
  clock.step(-FORGET_AFTER + 1);
  const next = await lease.acquire("s", "o");
  expect(next.token).toBeGreaterThan(first.token);
  expect(next.previous).toBeUndefined();
});

test("a live record is not forgotten however often it is renewed, nor one whose token is ahead of the clock", async () => {
  const { map, clock, lease } = world();
  let held = await lease.acquire("live", "o");
  await lease.release(await lease.acquire("ahead", "o", { above: BigInt(clock.wall() + 20 * FORGET_AFTER) }));
  for (let round = 0; round < 30; round += 1) {
    await pass(clock, TTL / 2);
    held = await lease.renew(held);
  }
  expect([...map.records.keys()]).toEqual(["live", "ahead"]);
});

test("a hold taken while its predecessor is being removed survives, and is forgotten in its own time", async () => {
  const map = new MapStore();
  const inner = map.store();
  let meanwhile: (() => Promise<unknown>) | undefined;
  const store = {
    ...inner,
    swap: async (...swap: Parameters<typeof inner.swap>) => {
      const answer = await inner.swap(...swap);
      // The record is gone, and before the forgetter hears of it somebody else has acquired.
      if (swap[2] === undefined) await meanwhile?.();
      return answer;
    },
  };
  const { clock, lease } = world(map, store);
  await lease.release(await lease.acquire("s", "o"));
  meanwhile = () => lease.acquire("s", "p");
  await pass(clock, FORGET_AFTER + GATHER);
  expect(map.records.get("s")?.record.owner).toBe("p");
  meanwhile = undefined;
  await pass(clock, TTL + FORGET_AFTER + GATHER);
  expect(map.records.size).toBe(0);
});

test("one session that cannot be read holds up none behind it for long", async () => {
  const map = new MapStore();
  const inner = map.store();
  let failing = false;
  const { clock, lease } = world(map, {
    ...inner,
    load: async (id, context) => {
      if (failing && id === "bad") throw new LeaseUnavailableError("this one never");
      return inner.load(id, context);
    },
  });
  for (const id of ["bad", "good", "better"]) await lease.release(await lease.acquire(id, "o"));
  failing = true;
  for (let turn = 0; turn < 4; turn += 1) await pass(clock, FORGET_AFTER + GATHER);
  expect([...map.records.keys()]).toEqual(["bad"]);
});

test("what other processes left is found by scanning", async () => {
  const map = new MapStore();
  const mine = world(map, {
    ...map.store(),
    scan: () => [...map.records].map(([sessionId, { record }]) => ({ sessionId, record })),
  });
  await mine.lease.release(await mine.lease.acquire("mine", "o"));
  const other = casLease({ ...map.store(), name: "other", clock: mine.clock, ttl: TTL, forgetAfter: FORGET_AFTER });
  await other.release(await other.acquire("theirs", "o"));
  await other.close();
  await pass(mine.clock, FORGET_AFTER + GATHER);
  expect(map.records.size).toBe(0);
});

test("close waits for a removal that is under way and leaves no timer", async () => {
  const map = new MapStore();
  const inner = map.store();
  let answer: () => void = () => undefined;
  let closedDuringSwap = false;
  let swapping = false;
  const { clock, lease } = world(map, {
    ...inner,
    swap: async (...swap: Parameters<typeof inner.swap>) => {
      if (swap[2] !== undefined) return inner.swap(...swap);
      swapping = true;
      await new Promise<void>((resolve) => (answer = resolve));
      swapping = false;
      return inner.swap(...swap);
    },
    close: () => {
      closedDuringSwap = swapping;
    },
  });
  await lease.release(await lease.acquire("s", "o"));
  await pass(clock, FORGET_AFTER + GATHER);
  expect(swapping).toBe(true);
  const closing = lease.close();
  await settled();
  answer();
  await closing;
  expect(closedDuringSwap).toBe(false);
  expect(clock.pending).toBe(0);
});
