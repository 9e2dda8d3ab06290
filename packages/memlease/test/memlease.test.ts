import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Clock, leaseErrorCode } from "@leasehold/session-lease";
import { describe, expect, test } from "vitest";
import { MemoryLeaseStore, memlease } from "../src/index.js";

const START = 1_700_000_000_000;

/** A clock that is set, and whose timers never fire. */
function setClock(): Clock & { now: number } {
  const clock = {
    now: START,
    wall: () => clock.now,
    monotonic: () => clock.now,
    schedule: () => ({ cancel: () => undefined }),
  };
  return clock;
}

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);

test("of two acquires in one tick exactly one is granted, a thousand times", async () => {
  const lease = memlease();
  for (let round = 0; round < 1000; round += 1) {
    const outcomes = await Promise.all(["a", "b"].map((owner) => codeOf(lease.acquire(`s${round}`, owner))));
    expect(outcomes.sort()).toEqual(["held", undefined]);
  }
  await lease.close();
});

test("leases over one store exclude each other and share its identity; others do not", async () => {
  const store = new MemoryLeaseStore();
  const [first, second, stranger] = [memlease({ store }), memlease({ store }), memlease()];
  const held = await first.acquire("s", "a");
  expect(await codeOf(second.acquire("s", "b"))).toBe("held");
  expect(await codeOf(stranger.acquire("s", "b"))).toBeUndefined();
  expect(await second.domain()).toBe(await first.domain());
  expect(await stranger.domain()).not.toBe(await first.domain());
  const change = second.waitForChange("s");
  await first.close();
  expect(await second.release(held)).toBe("released");
  await change;
  await Promise.all([second.close(), stranger.close()]);
});

test("what was applied is there when the call returns, before anything is awaited", async () => {
  const store = new MemoryLeaseStore();
  const lease = memlease({ store });
  const call = lease.acquire("s", "a");
  expect(store.size).toBe(1);
  await call;
});

describe("the clock", () => {
  test("stands still rather than step back, for every lease of the store", async () => {
    const store = new MemoryLeaseStore();
    const [ahead, behind] = [setClock(), setClock()];
    ahead.now += 5000;
    const [first, second] = [
      memlease({ store, clock: ahead, ttl: 1000 }),
      memlease({ store, clock: behind, ttl: 1000 }),
    ];
    const held = await first.acquire("s", "a");
    expect(held.expiry).toBe(START + 6000);
    const other = await second.acquire("t", "a");
    expect(other).toMatchObject({ expiry: START + 6000, token: BigInt(START + 5000) });
    behind.now = START + 6000;
    expect((await second.acquire("s", "b")).previous).toMatchObject({ owner: "a", ended: "expired" });
  });

  test("with fractions gives whole numbers", async () => {
    const clock = setClock();
    clock.now += 0.75;
    expect(await memlease({ clock, ttl: 1000 }).acquire("s", "a")).toMatchObject({
      expiry: START + 1000,
      token: BigInt(START),
    });
  });
});

describe("capacity", () => {
  test("never evicts a live lease, nor a dead one before its time; then makes room", async () => {
    const clock = setClock();
    const lease = memlease({ clock, capacity: 2, ttl: 60_000, forgetAfter: 1000 });
    const live = await lease.acquire("live", "a");
    const dead = await lease.acquire("dead", "a");
    await lease.release(dead);
    expect(await codeOf(lease.acquire("new", "a"))).toBe("unavailable");
    clock.now += 999;
    expect(await codeOf(lease.acquire("new", "a"))).toBe("unavailable");
    clock.now += 1;
    expect(await codeOf(lease.acquire("new", "a"))).toBeUndefined();
    expect(await codeOf(lease.acquire("newer", "a"))).toBe("unavailable");
    expect((await lease.renew(live)).token).toBe(live.token);
    await lease.release(live);
    clock.now += 1000;
    const again = await lease.acquire("dead", "b");
    expect(again.token).toBeGreaterThan(dead.token);
  });

  test("does not stand in the way of sessions that have a record", async () => {
    const lease = memlease({ clock: setClock(), capacity: 1 });
    await lease.release(await lease.acquire("s", "a"));
    expect(await codeOf(lease.acquire("s", "b"))).toBeUndefined();
    expect(await codeOf(lease.acquire("t", "b"))).toBe("unavailable");
  });
});

test.each([
  ["capacity 0", { capacity: 0 }],
  ["capacity 1.5", { capacity: 1.5 }],
  ["forgetAfter 0", { forgetAfter: 0 }],
  ["forgetAfter NaN", { forgetAfter: Number.NaN }],
  ["ttl 9", { ttl: 9 }],
  ["ttl of more than a day", { ttl: 86_400_001 }],
])("%s is refused at once", (_name, options) => {
  expect(() => memlease(options)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("an aborted acquire that was already applied is a grant; one aborted before asks nothing", async () => {
  const store = new MemoryLeaseStore();
  const lease = memlease({ store });
  const abort = new AbortController();
  const call = lease.acquire("s", "a", { signal: abort.signal });
  abort.abort();
  expect((await call).owner).toBe("a");
  expect(await codeOf(lease.acquire("t", "a", { signal: abort.signal }))).toBe("aborted");
  expect(store.size).toBe(1);
});

test("a program that forgets to close ends by itself", async () => {
  const fixture = fileURLToPath(new URL("./fixtures/forgets-to-close.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [fixture], { timeout: 20_000 });
  expect(stdout).toBe("done");
});

test("tells who listens of requests to let go, and of nothing else", async () => {
  const store = new MemoryLeaseStore();
  const [holder, asker] = [memlease({ store }), memlease({ store })];
  const heard: string[] = [];
  const listener = (sessionId: string): void => void heard.push(sessionId);
  const stops = [holder.watchRequests?.(listener), holder.watchRequests?.(listener)];
  const held = await holder.acquire("s", "holder");
  await holder.renew(held);
  expect(await asker.requestRelease("s", { expectedToken: held.token + 1n })).toBe(false);
  expect(await asker.requestRelease("free")).toBe(false);
  expect(heard).toEqual([]);
  expect(await asker.requestRelease("s", { expectedToken: held.token })).toBe(true);
  expect(heard).toEqual(["s", "s"]);
  stops[0]?.();
  await asker.requestRelease("s");
  expect(heard).toEqual(["s", "s", "s"]);
  await holder.close();
  await asker.close();
});
