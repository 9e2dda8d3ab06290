/** What `casLease` makes of a store, beyond what the model of the loop explores. */

import { describe, expect, test } from "vitest";
import {
  type CasStore,
  casLease,
  findLeaseError,
  LeaseCorruptError,
  LeaseIncompatibleError,
  type LeaseRecord,
  LeaseUnknownOutcomeError,
  leaseErrorCode,
  lossReason,
  MAX_TOKEN,
  type ProcessIdentity,
} from "../src/index.js";
import { ManualClock, settled } from "./model/manual-clock.js";
import { MapStore } from "./model/map-store.js";

const TTL = 1000;
const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);

function over(store: CasStore<number>, more: Partial<Parameters<typeof casLease<number>>[0]> = {}) {
  const clock = new ManualClock();
  return { clock, lease: casLease<number>({ ...store, name: "test", clock, ttl: TTL, forgetAfter: 5000, ...more }) };
}

describe("what the store presumes", () => {
  test("saves the load of an acquire", async () => {
    const map = new MapStore();
    const { lease } = over({ ...map.store(), presume: () => ({}) });
    await lease.acquire("s", "o");
    expect(map.asked).toEqual(["swap"]);
  });

  test("is asked for acquire alone, and once in a call", async () => {
    const map = new MapStore();
    let asked = 0;
    const presume = async (): Promise<object> => {
      asked += 1;
      return {};
    };
    const { lease } = over({ ...map.store(), presume });
    const held = await lease.acquire("s", "o");
    await lease.renew(held);
    await lease.inspect("s");
    await lease.release(held);
    expect(asked).toBe(1);
    expect(await codeOf(lease.acquire("s", "p"))).toBeUndefined();
    expect(asked).toBe(2);
  });

  test("never answers: a session that it takes for free is held", async () => {
    const map = new MapStore();
    const { lease } = over({ ...map.store(), presume: () => ({}) });
    await lease.acquire("s", "o");
    map.asked.length = 0;
    expect(await codeOf(lease.acquire("s", "p"))).toBe("held");
    expect(map.asked).toEqual(["swap", "load"]);
  });

  test("never answers: a session that it takes for held is free", async () => {
    const map = new MapStore();
    const { lease } = over(map.store());
    const held = await lease.acquire("s", "o");
    const presumed = map.records.get("s");
    await lease.release(held);
    const misled = over({ ...map.store(), presume: () => presumed }).lease;
    expect((await misled.acquire("s", "p")).token).toBeGreaterThan(held.token);
  });

  test("may be nothing: the acquire loads", async () => {
    const map = new MapStore();
    const { lease } = over({ ...map.store(), presume: () => undefined });
    await lease.acquire("s", "o");
    expect(map.asked).toEqual(["load", "swap"]);
  });

  test("what it stated is what observers are shown of the expiry", async () => {
    const map = new MapStore();
    const { load, ...store } = map.store();
    const { lease } = over({
      ...store,
      load: async (sessionId, context) => {
        const loaded = await load(sessionId, context);
        if (loaded?.record === undefined) return loaded;
        const { record, version } = loaded;
        return { record: { ...record, expiry: record.expiry + 500 }, version, stated: record.expiry };
      },
    });
    const held = await lease.acquire("s", "o");
    expect((await lease.inspect("s"))?.expiry).toBe(held.expiry);
  });
});

describe("remembered versions", () => {
  test("save the load of a renewal and of a release", async () => {
    const map = new MapStore();
    const { lease } = over(map.store({ remembering: true }));
    const held = await lease.acquire("s", "o");
    await lease.renew(held);
    await lease.release(held);
    expect(map.asked).toEqual(["load", "swap", "swap", "swap"]);
  });

  test.each([
    [
      "taken over",
      (record: LeaseRecord): LeaseRecord => ({ ...record, owner: "other", token: record.token + 1n }),
      "taken",
    ],
    ["deleted", (): undefined => undefined, "deleted"],
    ["forced", (record: LeaseRecord): LeaseRecord => ({ ...record, standing: "forced" }), "forced"],
  ])("never answer for a record that was %s meanwhile", async (_what, change, reason) => {
    const map = new MapStore();
    const { lease } = over(map.store({ remembering: true }));
    const held = await lease.acquire("s", "o");
    const record = map.records.get("s")?.record;
    map.put("s", record && change(record));
    const error = await lease.renew(held).catch((thrown: unknown) => thrown);
    expect(lossReason(error)).toBe(reason);
  });

  test("do not hide that another process has prolonged the hold", async () => {
    const map = new MapStore();
    const { lease, clock } = over(map.store({ remembering: true }));
    const held = await lease.acquire("s", "o");
    const record = map.records.get("s")?.record;
    if (record !== undefined) map.put("s", { ...record, expiry: record.expiry + TTL });
    clock.elapse(TTL + 1);
    expect((await lease.renew(held)).token).toBe(held.token);
  });
});

describe("what cannot be read", () => {
  const broken = (error: LeaseCorruptError | LeaseIncompatibleError) => {
    let present = true;
    const store: CasStore<number> = {
      load: () => (present ? { broken: error, version: 1 } : undefined),
      swap: (_id, version, next) => {
        if (version !== 1 || next !== undefined) return false;
        present = false;
        return true;
      },
    };
    return over(store).lease;
  };

  test("is never free, never held, and is removed by force alone", async () => {
    const lease = broken(new LeaseCorruptError("nonsense"));
    expect(await codeOf(lease.acquire("s", "o"))).toBe("corrupt");
    expect(await codeOf(lease.inspect("s"))).toBe("corrupt");
    expect(await codeOf(lease.release({ sessionId: "s", owner: "o" }))).toBe("corrupt");
    expect(await codeOf(lease.forceRelease("s", { expectedToken: 1n }))).toBe("corrupt");
    expect(await lease.forceRelease("s")).toBe(true);
    expect(await lease.forceRelease("s")).toBe(false);
  });

  test("is left alone if it was written by a newer version", async () => {
    const lease = broken(new LeaseIncompatibleError("version 2"));
    expect(await codeOf(lease.acquire("s", "o"))).toBe("incompatible");
    expect(await codeOf(lease.forceRelease("s"))).toBe("incompatible");
  });
});

describe("errors of the store", () => {
  test("an outcome that must not be found out is told, after one release", async () => {
    const map = new MapStore();
    const inner = map.store();
    let swaps = 0;
    const { lease } = over({
      ...inner,
      swap: async (...swap) => {
        swaps += 1;
        await inner.swap(...swap);
        if (swaps === 1) throw new LeaseUnknownOutcomeError("looked away", { retryable: false });
        return true;
      },
    });
    expect(await codeOf(lease.acquire("s", "o"))).toBe("unknown-outcome");
    expect(swaps).toBe(2);
    expect(map.records.get("s")?.record.standing).toBe("released");
  });

  test.each([
    ["one hold has", 1, "released"],
    ["two holds have", 2, "unknown-outcome"],
  ])(
    "a release is not told as another's when %s come since, and its own answer was lost",
    async (_what, holds, end) => {
      const map = new MapStore();
      const inner = map.store();
      const rival = over(map.store()).lease;
      const { lease } = over({
        ...inner,
        swap: async (id, version, next, context) => {
          const swapped = await inner.swap(id, version, next, context);
          if (next?.standing !== "released") return swapped;
          for (let hold = 1; hold <= holds; hold++) {
            const held = await rival.acquire(id, `rival-${hold}`);
            if (hold < holds) await rival.release(held);
          }
          throw new LeaseUnknownOutcomeError("no answer");
        },
      });
      const held = await lease.acquire("s", "o");
      const told = await lease.release(held).catch((error: unknown) => leaseErrorCode(error));
      expect(told).toBe(end);
      expect(map.records.get("s")?.record.owner).toBe(`rival-${holds}`);
    },
  );

  test("a store that never knows is given up, as unknown", async () => {
    let swaps = 0;
    const { lease, clock } = over({
      load: async () => undefined,
      swap: async () => {
        swaps += 1;
        throw new LeaseUnknownOutcomeError("no idea");
      },
    });
    const call = lease.acquire("s", "o").catch(findLeaseError);
    for (let turn = 0; turn < 10; turn += 1) {
      await settled();
      clock.elapse(50);
    }
    expect(await call).toMatchObject({ code: "unknown-outcome", operation: "acquire", sessionId: "s" });
    expect(swaps).toBe(5);
  });

  test("a session that has used up its tokens is refused as invalid, and stays as it is", async () => {
    const { lease } = over(new MapStore().store());
    const last = await lease.acquire("s", "o", { above: MAX_TOKEN - 1n });
    expect(last.token).toBe(MAX_TOKEN);
    expect(await codeOf(lease.transfer(last, "p"))).toBe("invalid");
    await lease.release(last);
    expect(await codeOf(lease.acquire("s", "p"))).toBe("invalid");
    expect(await codeOf(lease.acquire("t", "p", { above: MAX_TOKEN }))).toBe("invalid");
  });
});

test("of two who break one hold at once, only the one who broke it says so", async () => {
  const map = new MapStore();
  const store = map.store();
  let silent = false;
  const { lease } = over({
    ...store,
    swap: (id, version, next, context) => {
      if (!silent) return store.swap(id, version, next, context);
      silent = false;
      // Somebody else is first, and the answer to this one, which is too late, is lost.
      if (next !== undefined) map.put("s", { ...next, forced: { at: 0, by: "somebody else" } });
      throw new LeaseUnknownOutcomeError("no answer");
    },
  });
  await lease.acquire("s", "o");
  silent = true;
  expect(await lease.forceRelease("s", { by: "operator" })).toBe(false);
});

test("the store's own clock decides, and is rounded down", async () => {
  const map = new MapStore();
  const store = map.store();
  let now = 5000.9;
  const { lease } = over({
    ...store,
    load: async (id, context) => ({ ...(await store.load(id, context)), now }) as never,
  });
  expect((await lease.acquire("s", "o")).expiry).toBe(6000);
  now = 6000;
  expect((await lease.acquire("s", "p")).previous).toMatchObject({ owner: "o", ended: "expired" });
});

test("a holder whose process is proved gone is replaced at once; one that is not proved so never", async () => {
  const self: ProcessIdentity = { pid: 1, startTime: "1", bootId: "b", pidNamespace: "p", timeNamespace: "t" };
  let gone = false;
  const map = new MapStore();
  const { lease } = over(map.store(), {
    ownProcess: () => self,
    isProcessGone: () => gone,
    scan: () => [...map.records].map(([sessionId, { record }]) => ({ sessionId, record })),
  });
  await lease.acquire("tied", "a", { tiedToProcess: true });
  await lease.acquire("loose", "a");
  expect(await codeOf(lease.acquire("tied", "b"))).toBe("held");
  expect(await lease.inspect("tied")).not.toHaveProperty("holderGone");
  gone = true;
  expect(await lease.inspect("tied")).toMatchObject({ owner: "a", holderGone: true });
  expect((await lease.list()).leases.map(({ sessionId, holderGone }) => [sessionId, holderGone])).toEqual([
    ["loose", undefined],
    ["tied", true],
  ]);
  expect((await lease.acquire("tied", "b")).previous).toMatchObject({ owner: "a", ended: "dead" });
  gone = false;
  expect(await lease.inspect("tied")).toMatchObject({ owner: "b" });
  gone = true;
  expect(await codeOf(lease.acquire("loose", "b"))).toBe("held");
});

test("a thenable of another make is waited for, not taken for an empty record", async () => {
  const map = new MapStore();
  const store = map.store();
  await over(store).lease.acquire("s", "a");
  // biome-ignore lint/suspicious/noThenProperty: the point of the test
  const foreign = { then: (use: (loaded: unknown) => void) => use(map.records.get("s")) };
  const { lease } = over({ ...store, load: () => foreign as never });
  expect(await codeOf(lease.acquire("s", "b"))).toBe("held");
});

describe("the bell", () => {
  test("rings after a request was stored, and never for one that was not", async () => {
    const map = new MapStore();
    const rung: string[] = [];
    const ring = (sessionId: string): void => void rung.push(`${sessionId} ${map.asked.at(-1)}`);
    const { lease } = over(map.store(), { requests: { ring, listen: () => () => undefined } });
    const held = await lease.acquire("s", "o");
    await lease.renew(held);
    expect(await lease.requestRelease("s", { expectedToken: held.token + 1n })).toBe(false);
    expect(await lease.requestRelease("free")).toBe(false);
    expect(rung).toEqual([]);
    expect(await lease.requestRelease("s", { expectedToken: held.token })).toBe(true);
    expect(rung).toEqual(["s swap"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("that %s takes nothing from the request", async (_, ring) => {
    const { lease } = over(new MapStore().store(), { requests: { ring, listen: () => () => undefined } });
    const held = await lease.acquire("s", "o");
    expect(await lease.requestRelease("s")).toBe(true);
    expect((await lease.renew(held)).releaseRequested).toBeDefined();
  });

  test("is listened to through the lease until that is closed; without one there is nothing to listen to", async () => {
    expect(over(new MapStore().store()).lease.watchRequests).toBeUndefined();
    const heard: string[] = [];
    let listeners = 0;
    const listen = (onRequest: (sessionId: string) => void): (() => void) => {
      listeners += 1;
      onRequest("s");
      return () => {
        listeners -= 1;
      };
    };
    const { lease } = over(new MapStore().store(), { requests: { ring: () => undefined, listen } });
    const stop = lease.watchRequests?.((sessionId) => void heard.push(sessionId));
    expect([heard, listeners]).toEqual([["s"], 1]);
    stop?.();
    expect(listeners).toBe(0);
    await lease.close();
    lease.watchRequests?.(() => undefined)();
    expect(listeners).toBe(0);
  });
});

describe("a look that takes long", () => {
  test("does not take a hold for expired that was renewed while the record was on its way", async () => {
    const map = new MapStore();
    const store = map.store();
    let inFlight: () => Promise<void> = async () => undefined;
    const { clock, lease } = over({
      ...store,
      load: async (id, context) => {
        const loaded = await store.load(id, context);
        await inFlight();
        return loaded;
      },
      scan: async function* () {
        for (const [sessionId, { record }] of [...map.records]) {
          await inFlight();
          yield { sessionId, record };
        }
      },
    });
    const held = await lease.acquire("s", "o");
    const slowly = async (): Promise<void> => {
      inFlight = async () => undefined;
      clock.elapse(TTL - 1);
      await lease.renew(held);
      clock.elapse(TTL - 1);
    };
    inFlight = slowly;
    expect(await lease.inspect("s")).toMatchObject({ owner: "o" });
    await lease.renew(held);
    inFlight = slowly;
    expect((await lease.list()).leases).toHaveLength(1);
  });

  test.each([
    ["a request to let go", "requestRelease"],
    ["a release by force", "forceRelease"],
  ] as const)("%s reaches a hold that was renewed while the record was on its way", async (_what, ask) => {
    const map = new MapStore();
    const store = map.store();
    let inFlight: () => Promise<void> = async () => undefined;
    const { clock, lease } = over({
      ...store,
      load: async (id, context) => {
        const loaded = await store.load(id, context);
        await inFlight();
        return loaded;
      },
    });
    const held = await lease.acquire("s", "o");
    inFlight = async () => {
      inFlight = async () => undefined;
      clock.elapse(TTL - 1);
      await lease.renew(held);
      clock.elapse(TTL - 1);
    };
    expect(await lease[ask]("s")).toBe(true);
  });

  test.each(["requestRelease", "forceRelease"] as const)(
    "%s finds nothing in a hold that ran out while the record was on its way",
    async (ask) => {
      const map = new MapStore();
      const store = map.store();
      const { clock, lease } = over({
        ...store,
        load: async (id, context) => {
          const loaded = await store.load(id, context);
          clock.elapse(TTL / 2);
          return loaded;
        },
      });
      await lease.acquire("s", "o");
      clock.elapse(TTL / 2);
      map.asked.length = 0;
      expect(await lease[ask]("s")).toBe(false);
      expect(map.asked).toEqual(["load", "load"]);
    },
  );
});
