/** One run for one request: in this process, against other servers, and in what the log tells. */

import { FakeClock } from "@leasehold/conformance";
import { SessionLeasedElsewhereError } from "@leasehold/session-runs";
import { MemorySessionStore } from "@leasehold/session-store";
import { expect, it } from "vitest";
import { AlreadyBegunError, Once } from "../src/run/once.js";
import { RequestIndex } from "../src/run/request-index.js";
import { type RequestKey, readRequestKey } from "../src/run/request-key.js";

const keyOf = (key: string, body: object = { prompt: "go" }): RequestKey => {
  const read = readRequestKey(key, body);
  if (read === undefined) throw new Error("no key");
  return read;
};
const KEY = keyOf("k");
const forever = new AbortController().signal;

async function session() {
  const clock = new FakeClock();
  const store = new MemorySessionStore({ clock });
  await store.create("s", 1n);
  const index = new RequestIndex(store);
  const holder: { mark: string | undefined } = { mark: undefined };
  const began = clock.monotonic();
  /** When the authority was asked, in ms from the begin. */
  const asked: number[] = [];
  const markOfHolder = async (): Promise<string | undefined> => {
    asked.push(clock.monotonic() - began);
    return holder.mark;
  };
  const once = new Once({ index, clock, markOfHolder });
  const write = async (key = KEY, runId = "r", token = 1n): Promise<void> => {
    await store.append("s", token, {
      runId,
      type: "started",
      data: { request: { key: key.key, digest: key.digest } },
    });
  };
  return { clock, store, index, once, holder, write, asked };
}

it("begins a request that the log does not know, and finds it from then on", async () => {
  const { once, write, store } = await session();
  expect(await once.begin("s", KEY, () => write(), forever)).toBeUndefined();
  const again = once.begin("s", KEY, () => Promise.reject(new Error("begun twice")), forever);
  expect(await again).toEqual({ runId: "r", seq: 1, digest: KEY.digest });
  // What a server that has just started finds.
  expect(await new RequestIndex(store).find("s", "k")).toMatchObject({ runId: "r" });
  expect(await once.begin("s", keyOf("K"), async () => {}, forever)).toBeUndefined();
});

it("refuses a key that comes with another body, but does not mind blanks and the order of fields", async () => {
  const { once, write } = await session();
  const key = keyOf("k", { prompt: "go", wait_ms: 1 });
  await once.begin("s", key, () => write(key), forever);
  for (const body of [{ prompt: "go" }, { prompt: "go", wait_ms: 2 }, { prompt: "gone", wait_ms: 1 }]) {
    const refused = once.begin("s", keyOf("k", body), async () => {}, forever);
    await expect(refused).rejects.toMatchObject({ status: 422, code: "idempotency_key_reused" });
  }
  expect(await once.begin("s", keyOf("k", { wait_ms: 1, prompt: "go" }), async () => {}, forever)).toBeDefined();
});

it("begins one run for a crowd that comes at once", async () => {
  const { once, write } = await session();
  let begun = 0;
  const begin = async (): Promise<void> => {
    begun += 1;
    await Promise.resolve();
    await write();
  };
  const all = await Promise.all(Array.from({ length: 100 }, () => once.begin("s", KEY, begin, forever)));
  expect(begun).toBe(1);
  expect(all.filter((run) => run === undefined)).toHaveLength(1);
  expect(all.filter((run) => run?.runId === "r")).toHaveLength(99);
});

it("refuses the whole crowd when the first is refused, and leaves the key free", async () => {
  const { once, write } = await session();
  let asked = 0;
  const busy = new SessionLeasedElsewhereError({ retryAfterMs: 1, heldForMs: 1 }, undefined);
  const refuse = async (): Promise<void> => {
    asked += 1;
    await Promise.resolve();
    throw busy;
  };
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => once.begin("s", KEY, refuse, forever)));
  expect(all.map((each) => each.status === "rejected" && each.reason)).toEqual(Array(10).fill(busy));
  expect(asked).toBe(1);
  expect(await once.begin("s", KEY, () => write(), forever)).toBeUndefined();
});

it("does not let one client's going away speak for the others", async () => {
  const { clock, once, write } = await session();
  const leaving = new AbortController();
  const first = once.begin(
    "s",
    KEY,
    () =>
      new Promise((_, reject) => {
        leaving.signal.addEventListener("abort", () => reject(leaving.signal.reason));
      }),
    leaving.signal,
  );
  const second = once.begin("s", KEY, () => write(), forever);
  const gone = new Error("gone");
  const left = expect(first).rejects.toBe(gone);
  await clock.settle();
  leaving.abort(gone);
  await left;
  expect(await second).toBeUndefined();
});

it("waits for another server that is about to begin this very request, and for no other", async () => {
  const { clock, once, holder, write } = await session();
  holder.mark = KEY.mark;
  let begun = 0;
  const begin = async (): Promise<void> => {
    begun += 1;
  };
  const waiting = once.begin("s", KEY, begin, forever);
  await clock.advance(1_000);
  await write();
  await clock.advance(1_000);
  expect(await waiting).toMatchObject({ runId: "r" });
  expect(begun).toBe(0);
  await once.begin("s", keyOf("other"), begin, forever);
  expect(begun).toBe(1);
});

it("begins it after all when that server has gone without", async () => {
  const { clock, once, holder, write } = await session();
  holder.mark = KEY.mark;
  const waiting = once.begin("s", KEY, () => write(), forever);
  await clock.advance(1_000);
  holder.mark = undefined;
  await clock.advance(1_000);
  expect(await waiting).toBeUndefined();
});

it("looks soon, and then once a second, while that server may be dead and its ttl has to pass", async () => {
  const { clock, once, holder, write, asked } = await session();
  holder.mark = KEY.mark;
  const waiting = once.begin("s", KEY, () => write(), forever);
  await clock.advance(30_000);
  expect(asked.length).toBeLessThan(40);
  expect(asked.slice(0, 4)).toEqual([0, 50, 150, 350]);
  holder.mark = undefined;
  await clock.advance(1_000);
  expect(await waiting).toBeUndefined();
});

it("looks once more when it is refused in favour of the same request elsewhere", async () => {
  const { clock, once, holder, write } = await session();
  const begin = async (): Promise<void> => {
    holder.mark = KEY.mark;
    throw new SessionLeasedElsewhereError({ retryAfterMs: 1, heldForMs: 1 }, undefined);
  };
  const waiting = once.begin("s", KEY, begin, forever);
  await clock.advance(100);
  await write();
  await clock.advance(50);
  expect(await waiting).toMatchObject({ runId: "r" });
});

it("takes what is found under the lease, and compares its body", async () => {
  const { once } = await session();
  const found = { runId: "r", seq: 7, digest: KEY.digest };
  const begin = (digest: string) =>
    once.begin("s", KEY, () => Promise.reject(new AlreadyBegunError({ ...found, digest })), forever);
  expect(await begin(KEY.digest)).toEqual(found);
  await expect(begin("another")).rejects.toMatchObject({ status: 422 });
});

it("knows a session from one that had its name before", async () => {
  const { clock, index, write, store } = await session();
  await write();
  expect(await index.find("s", "k")).toBeDefined();
  await clock.advance(1);
  await store.delete("s", 2n);
  await store.create("s", 3n);
  expect(await index.find("s", "k")).toBeUndefined();
});

it("reads of a log only what is new", async () => {
  const { index, write, store } = await session();
  await write(keyOf("first"), "r1");
  for (let i = 0; i < 1_500; i++) await store.append("s", 1n, { runId: "r1", type: "output" });
  await index.find("s", "first");
  const afters: (number | undefined)[] = [];
  const { read } = store;
  store.read = (id, options) => {
    afters.push(options?.after);
    return read.call(store, id, options);
  };
  expect(await index.find("s", "first")).toMatchObject({ runId: "r1" });
  expect(afters).toEqual([]);
  await write(keyOf("second"), "r2");
  expect(await index.find("s", "second")).toMatchObject({ runId: "r2", seq: 1_502 });
  expect(afters).toEqual([1_501]);
});

it("forgets the sessions asked for longest ago, and never the one asked for last, however many keys it has", async () => {
  const { store, write } = await session();
  await store.create("t", 1n);
  const index = new RequestIndex(store, 3);
  for (let i = 0; i < 5; i++) await write(keyOf(`k${i}`), `r${i}`);
  const read: string[] = [];
  const { read: original } = store;
  store.read = (id, options) => {
    read.push(id);
    return original.call(store, id, options);
  };
  for (const key of ["k0", "k4", "none"]) await index.find("s", key);
  expect(read).toEqual(["s"]);
  await store.append("t", 1n, { runId: "r", type: "output" });
  await index.find("t", "k");
  expect(await index.find("s", "k0")).toMatchObject({ runId: "r0" });
  expect(read).toEqual(["s", "t", "s"]);
});

it.each([
  ["nothing", ""],
  ["129 bytes", "k".repeat(129)],
])("is not named by %s", (_, header) => {
  expect(() => readRequestKey(header, {})).toThrow("Idempotency-Key must be 1 to 128 bytes");
});
