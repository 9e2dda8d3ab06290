/** Rivals on several hosts over a store without a clock: what each may conclude from what it has seen itself. */

import { describe, expect, test } from "vitest";
import { casLease, leaseErrorCode, lossReason } from "../src/index.js";
import { ManualClock } from "./model/manual-clock.js";
import { MapStore } from "./model/map-store.js";

const TTL = 1000;
const HOUR = 3_600_000;
const NOON = 1_700_000_000_000;

/** A lease as a process of another host opens it, on a clock of its own. */
function host(map: MapStore, wall = NOON, more: { forgetAfter?: number } = {}) {
  const clock = new ManualClock(wall);
  const store = {
    ...map.store({ remembering: true }),
    scan: () => [...map.records].map(([sessionId, { record }]) => ({ sessionId, record })),
  };
  const lease = casLease<number>({ ...store, name: "test", clock, ttl: TTL, expiry: "watched-silence", ...more });
  const tries = (): Promise<string | undefined> =>
    lease.acquire("s", `rival at ${wall}`).then(() => "granted", leaseErrorCode);
  return { lease, clock, tries };
}

describe.each([
  ["an hour ahead", HOUR],
  ["an hour behind", -HOUR],
])("a rival whose clock is %s", (_where, skew) => {
  test("robs nobody who renews", async () => {
    const map = new MapStore();
    const holder = host(map);
    const rival = host(map, NOON + skew);
    let held = await holder.lease.acquire("s", "holder");
    for (let round = 0; round < 8; round += 1) {
      expect(await rival.tries()).toBe("held");
      holder.clock.elapse(TTL / 2);
      rival.clock.elapse(TTL / 2);
      held = await holder.lease.renew(held);
    }
  });

  test("takes over from the dead one ttl after its first look, and not a millisecond before", async () => {
    const map = new MapStore();
    const rival = host(map, NOON + skew);
    const held = await host(map).lease.acquire("s", "holder");
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(TTL - 1);
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(1);
    const taken = await rival.lease.acquire("s", "rival");
    expect(taken.token > held.token).toBe(true);
    expect(taken.previous).toEqual({ owner: "holder", token: held.token, ended: "expired" });
  });
});

describe("what a watcher counts", () => {
  test("begins with its first look, however old the record is", async () => {
    const map = new MapStore();
    await host(map).lease.acquire("s", "holder");
    const late = host(map, NOON + 10 * TTL);
    const error = await late.lease.acquire("s", "late").catch((thrown: unknown) => thrown);
    expect([leaseErrorCode(error), (error as { retryAfterMs?: number }).retryAfterMs]).toEqual(["held", TTL]);
  });

  test("begins anew with every renewal, also when the holder's clock stands and each writes the same expiry", async () => {
    const map = new MapStore();
    const holder = host(map);
    const rival = host(map);
    const held = await holder.lease.acquire("s", "holder");
    for (let round = 0; round < 4; round += 1) {
      expect(await rival.tries()).toBe("held");
      rival.clock.elapse(TTL - 1);
      await holder.lease.renew(held);
    }
    expect(new Set([held.expiry, map.records.get("s")?.record.expiry]).size).toBe(1);
    expect(await rival.tries()).toBe("held");
  });

  test("is not shortened by a clock stepped forward, nor by a suspended machine", async () => {
    const map = new MapStore();
    const rival = host(map);
    await host(map).lease.acquire("s", "holder");
    expect(await rival.tries()).toBe("held");
    rival.clock.step(HOUR);
    expect(await rival.tries()).toBe("held");
  });

  test("loses no more than the time between two looks to a clock stepped back", async () => {
    const map = new MapStore();
    const rival = host(map);
    await host(map).lease.acquire("s", "holder");
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(TTL / 2);
    rival.clock.step(-HOUR);
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(TTL);
    expect(await rival.tries()).toBe("granted");
  });

  test("follows the record's own ttl", async () => {
    const map = new MapStore();
    const rival = host(map);
    await host(map).lease.acquire("s", "holder", { ttl: 3 * TTL });
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(3 * TTL - 1);
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(1);
    expect(await rival.tries()).toBe("granted");
  });

  test("goes on over a request that it made itself, which leaves the holder's expiry as it was", async () => {
    const map = new MapStore();
    const rival = host(map, NOON + HOUR);
    const held = await host(map).lease.acquire("s", "holder");
    expect(await rival.tries()).toBe("held");
    rival.clock.elapse(TTL / 2);
    expect(await rival.lease.requestRelease("s", { by: "rival" })).toBe(true);
    expect(map.records.get("s")?.record.expiry).toBe(held.expiry);
    rival.clock.elapse(TTL / 2);
    expect(await rival.tries()).toBe("granted");
  });

  test("begins later where a swap does not tell its version: with the next look", async () => {
    const clock = new ManualClock();
    const lease = casLease<number>({
      ...new MapStore().store(),
      name: "test",
      clock,
      ttl: TTL,
      expiry: "watched-silence",
    });
    await lease.acquire("s", "holder");
    clock.elapse(TTL);
    expect(await lease.acquire("s", "rival").catch(leaseErrorCode)).toBe("held");
    clock.elapse(TTL);
    expect((await lease.acquire("s", "rival")).owner).toBe("rival");
  });
});

test("a holder that was replaced is told so, and a reclaim works while nobody came", async () => {
  const map = new MapStore();
  const holder = host(map);
  const held = await holder.lease.acquire("s", "holder");
  holder.clock.elapse(TTL);
  expect(lossReason(await holder.lease.renew(held).catch((error: unknown) => error))).toBe("expired");
  expect((await holder.lease.renew(held, { reclaimExpired: true })).token).toBe(held.token);
  const rival = host(map, NOON - HOUR);
  await rival.tries();
  rival.clock.elapse(TTL);
  expect(await rival.tries()).toBe("granted");
  const late = await holder.lease.renew(held, { reclaimExpired: true }).catch((error: unknown) => error);
  expect(lossReason(late)).toBe("taken");
});

test("inspect and list show a hold until this watcher may call it dead", async () => {
  const map = new MapStore();
  const rival = host(map, NOON + HOUR);
  await host(map).lease.acquire("s", "holder");
  expect((await rival.lease.inspect("s"))?.expiry).toBe(NOON + HOUR + TTL);
  rival.clock.elapse(TTL - 1);
  expect((await rival.lease.inspect("s"))?.expiry).toBe(NOON + HOUR + TTL);
  expect((await rival.lease.list()).leases.map(({ owner }) => owner)).toEqual(["holder"]);
  rival.clock.elapse(1);
  expect(await rival.lease.inspect("s")).toBeUndefined();
  expect((await rival.lease.list()).leases).toEqual([]);
});

test("nobody's live record is forgotten by a host whose clock is far ahead", async () => {
  const map = new MapStore();
  const holder = host(map);
  const held = await holder.lease.acquire("s", "holder");
  const ahead = host(map, NOON + HOUR, { forgetAfter: 2 * TTL });
  await ahead.lease.release(await ahead.lease.acquire("another", "owner")); // what makes it sweep
  for (let round = 0; round < 8; round += 1) {
    ahead.clock.elapse(TTL);
    await new Promise((resolve) => setImmediate(resolve));
    await holder.lease.renew(held);
  }
  expect([...map.records.keys()]).toEqual(["s"]);
});

test("a dead record is kept for a day, so that no other host's clock seeds a lower token", async () => {
  const map = new MapStore();
  const { lease, clock } = host(map);
  await lease.release(await lease.acquire("s", "holder"));
  const hours = async (count: number): Promise<void> => {
    for (let hour = 0; hour < count; hour += 1) {
      clock.elapse(HOUR);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await hours(23);
  expect(map.records.size).toBe(1);
  await hours(2);
  expect(map.records.size).toBe(0);
});
