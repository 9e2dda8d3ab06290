import { expect, test } from "vitest";
import { casLease, leaseErrorCode, type ProcessIdentity } from "../src/index.js";
import { ManualClock, settled } from "./model/manual-clock.js";
import { MapStore } from "./model/map-store.js";

const TTL = 10_000;

function world(more: object = {}) {
  const clock = new ManualClock();
  const map = new MapStore();
  const watch = (_id: string, onChange: () => void): (() => void) => {
    map.watchers.add(onChange);
    return () => void map.watchers.delete(onChange);
  };
  return { clock, map, lease: casLease({ ...map.store(), watch, name: "test", clock, ttl: TTL, ...more }) };
}

/** Whether a wait is over, at any moment. */
function followed(wait: Promise<void>): { state: () => string | undefined } {
  let state: string | undefined;
  wait.then(
    () => (state = "woken"),
    (error: unknown) => (state = leaseErrorCode(error)),
  );
  return { state: () => state };
}

test.each(["release", "requestRelease", "forceRelease", "transfer"] as const)("%s wakes", async (op) => {
  const { lease, map } = world();
  const held = await lease.acquire("s", "o");
  const wait = followed(lease.waitForChange("s"));
  await settled();
  expect(wait.state()).toBeUndefined();
  if (op === "release") await lease.release(held);
  else if (op === "transfer") await lease.transfer(held, "p");
  else await lease[op]("s");
  await settled();
  expect(wait.state()).toBe("woken");
  expect(map.watchers.size).toBe(0);
});

test("a change between the call and its first look is not missed", async () => {
  const { lease } = world();
  const held = await lease.acquire("s", "o");
  const wait = followed(lease.waitForChange("s"));
  await lease.release(held);
  await settled();
  expect(wait.state()).toBe("woken");
});

test("expiry wakes, on time, and a hold that had run out before does not", async () => {
  const { lease, clock } = world();
  await lease.acquire("s", "o");
  const first = followed(lease.waitForChange("s"));
  await settled();
  clock.elapse(TTL - 1);
  await settled();
  expect(first.state()).toBeUndefined();
  clock.elapse(1);
  await settled();
  expect(first.state()).toBe("woken");
  const second = followed(lease.waitForChange("s"));
  await settled();
  expect(second.state()).toBeUndefined();
  await lease.acquire("s", "p");
  await settled();
  expect(second.state()).toBe("woken");
});

test("expiry by a store's own clock, an hour behind this host's, between call and look wakes too", async () => {
  const clock = new ManualClock();
  const map = new MapStore();
  const store = map.store();
  let look: () => void = () => undefined;
  let slow = false;
  const lease = casLease({
    ...store,
    load: async (id, context) => {
      if (slow) await new Promise<void>((resolve) => (look = resolve));
      return { ...(await store.load(id, context)), now: clock.wall() - 3_600_000 } as never;
    },
    watch: () => () => undefined,
    name: "test",
    clock,
    ttl: TTL,
  });
  await lease.acquire("s", "o");
  clock.elapse(TTL - 1);
  slow = true;
  const wait = followed(lease.waitForChange("s"));
  clock.elapse(2);
  look();
  await settled();
  expect(wait.state()).toBe("woken");
});

test("the death of a tied holder wakes, although it changes no record", async () => {
  const self: ProcessIdentity = { pid: 1, startTime: "1", bootId: "b", pidNamespace: "p", timeNamespace: "t" };
  let gone = false;
  const { lease, clock } = world({ ownProcess: () => self, isProcessGone: () => gone });
  await lease.acquire("s", "o", { tiedToProcess: true });
  const wait = followed(lease.waitForChange("s"));
  await settled();
  gone = true;
  clock.elapse(500);
  await settled();
  expect(wait.state()).toBe("woken");
});

test("abort and close end a wait, and leave neither watcher nor timer", async () => {
  const { lease, clock, map } = world();
  await lease.acquire("s", "o");
  const abort = new AbortController();
  const [first, second] = [
    followed(lease.waitForChange("s", { signal: abort.signal })),
    followed(lease.waitForChange("s")),
  ];
  await settled();
  expect(map.watchers.size).toBe(2);
  abort.abort();
  await settled();
  expect([first.state(), second.state(), map.watchers.size]).toEqual(["aborted", undefined, 1]);
  await lease.close();
  await settled();
  expect([second.state(), map.watchers.size, clock.pending]).toEqual(["closed", 0, 0]);
});

test("a store that reports a change from within watch itself wakes", async () => {
  const { lease } = world({
    watch: (_id: string, onChange: () => void) => {
      onChange();
      return () => undefined;
    },
  });
  await lease.acquire("s", "o");
  await lease.waitForChange("s");
  expect(await lease.inspect("s")).toMatchObject({ owner: "o" });
});
