/** What the port promises, asked of every store. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  JsonlSessionStore,
  type JsonValue,
  MemorySessionStore,
  type SessionStore,
  type StoredEvent,
} from "../src/index.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "session-store-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const clock = { wall: () => 1_767_000_000_000 };
const event = (type: string, data?: JsonValue) =>
  data === undefined ? { runId: "r", type } : { runId: "r", type, data };

describe.each([
  ["memory", (): SessionStore => new MemorySessionStore({ clock, maxEventBytes: 4096 })],
  ["jsonl", (): SessionStore => new JsonlSessionStore({ directory, clock, maxEventBytes: 4096 })],
] as const)("%s", (_, make) => {
  let store: SessionStore;
  beforeEach(() => {
    store = make();
  });
  afterEach(async () => {
    await store.close();
  });

  const stale = (token: bigint, highest: bigint) => ({ code: "stale-token", sessionId: "s", token, highest });

  test("contract store 1, B77: a token below the highest is refused in every call, an equal one is not", async () => {
    await store.create("s", 5n);
    await store.append("s", 5n, event("a"));
    for (const call of [
      () => store.create("s", 4n),
      () => store.open("s", 4n),
      () => store.append("s", 4n, event("late")),
      () => store.delete("s", 4n),
    ]) {
      await expect(call()).rejects.toMatchObject(stale(4n, 5n));
    }
    expect(store.stats().staleRefused).toBe(4);
    expect(await store.open("s", 5n)).toMatchObject({ lastSeq: 1 });
    expect((await store.read("s")).events).toHaveLength(1);
  });

  test("contract store 1: opening refuses the predecessor before the first event", async () => {
    await store.create("s", 1n);
    await store.open("s", 2n);
    await expect(store.append("s", 1n, event("late"))).rejects.toMatchObject(stale(1n, 2n));
  });

  test("contract store 1: a higher token on append raises the fence as open does", async () => {
    await store.create("s", 1n);
    await store.append("s", 7n, event("a"));
    expect(await store.highest("s")).toBe(7n);
    await expect(store.append("s", 6n, event("late"))).rejects.toMatchObject(stale(6n, 7n));
  });

  test("contract store 1: a deletion leaves its token behind, and no event", async () => {
    await store.create("s", 1n);
    await store.append("s", 1n, event("a"));
    expect(await store.delete("s", 3n)).toBe(true);
    expect(await store.highest("s")).toBe(3n);
    await expect(store.create("s", 2n)).rejects.toMatchObject(stale(2n, 3n));
    await expect(store.append("s", 3n, event("a"))).rejects.toMatchObject({ code: "unknown-session" });
    await expect(store.read("s")).rejects.toMatchObject({ code: "unknown-session" });
    await expect(store.open("s", 4n)).rejects.toMatchObject({ code: "unknown-session" });
    expect(await store.highest("s")).toBe(4n);
    expect(await store.delete("s", 4n)).toBe(false);
    await store.create("s", 4n);
    expect((await store.append("s", 4n, event("b"))).seq).toBe(1);
  });

  test("an id that was never created has no token, and asking leaves no trace", async () => {
    await expect(store.open("s", 9n)).rejects.toMatchObject({ code: "unknown-session", sessionId: "s" });
    expect(await store.delete("s", 9n)).toBe(false);
    await expect(store.append("s", 9n, event("a"))).rejects.toMatchObject({ code: "unknown-session" });
    expect(await store.highest("s")).toBeUndefined();
  });

  test("creating what exists is refused and raises nothing", async () => {
    await store.create("s", 1n);
    await expect(store.create("s", 2n)).rejects.toMatchObject({ code: "session-exists", sessionId: "s" });
    expect(await store.highest("s")).toBe(1n);
  });

  test("an event comes back as it was written", async () => {
    await store.create("s", 1n);
    const data = { text: "日本 \u2028 \ud83d\ude00 \n", deep: [1, -0.5, null, true, { __proto__x: 1 }] };
    const written = await store.append("s", 1n, event("a", data), { sync: true });
    expect(written).toEqual({ seq: 1, token: 1n, time: clock.wall(), runId: "r", type: "a", data });
    expect((await store.read("s")).events).toEqual([written]);
    expect((await store.open("s", 1n)).last).toEqual(written);
  });

  test("changing the event after the call changes nothing", async () => {
    await store.create("s", 1n);
    const data = { list: ["kept"] };
    const writing = store.append("s", 1n, event("a", data));
    data.list[0] = "changed";
    await writing;
    expect((await store.read("s")).events[0]?.data).toEqual({ list: ["kept"] });
  });

  test("tokens are exact up to 2^63-1", async () => {
    await store.create("s", 9n);
    for (const token of [10n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n]) {
      expect((await store.append("s", token, event("a"))).token).toBe(token);
      await expect(store.append("s", token - 1n, event("late"))).rejects.toMatchObject({ highest: token });
    }
    expect(await store.highest("s")).toBe(2n ** 63n - 1n);
    expect((await store.read("s")).events.at(-1)?.token).toBe(2n ** 63n - 1n);
  });

  test("pages cover every event once, and open returns the newest", async () => {
    await store.create("s", 1n);
    for (let seq = 1; seq <= 150; seq++) await store.append("s", 1n, event(`e${seq}`));
    const all: StoredEvent[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page: Awaited<ReturnType<SessionStore["read"]>> = await store.read("s", { after, limit: 40 });
      all.push(...page.events);
      after = page.next;
    }
    expect(all.map(({ type }) => type)).toEqual(Array.from({ length: 150 }, (_, index) => `e${index + 1}`));
    expect(await store.read("s", { after: 149 })).toMatchObject({ events: [{ seq: 150 }] });
    expect(await store.read("s", { after: 150 })).toEqual({ events: [] });
    expect(await store.read("s", { after: 10_000 })).toEqual({ events: [] });
    expect((await store.read("s", { limit: 150 })).next).toBeUndefined();
    const opened = await store.open("s", 1n);
    expect(opened.lastSeq).toBe(150);
    expect(opened.tail.map(({ seq }) => seq)).toEqual(Array.from({ length: 64 }, (_, index) => 87 + index));
  });

  test("lists standing sessions by the bytes of their ids", async () => {
    // U+FF5E sorts before U+1F600 by bytes, behind it by UTF-16 units.
    const ids = ["B", "a", "a/b", "ab", "\uff5e", "\u{1f600}"];
    for (const id of [...ids].reverse()) await store.create(id, 1n);
    await store.create("gone", 1n);
    await store.delete("gone", 1n);
    expect((await store.list()).sessions.map(({ id }) => id)).toEqual(ids);
    const first = await store.list({ limit: 4 });
    expect(first.next).toBe("ab");
    expect((await store.list({ after: "ab", limit: 4 })).sessions.map(({ id }) => id)).toEqual(ids.slice(4));
    expect((await store.list({ limit: 6 })).next).toBeUndefined();
  });

  test("a summary tells the last token, the runs and the last event", async () => {
    await store.create("s", 1n);
    await store.append("s", 1n, { runId: "r1", type: "started" });
    await store.append("s", 1n, { runId: "r1", type: "finished", data: "big" });
    await store.append("s", 2n, { runId: "r2", type: "started", data: "big" });
    const time = clock.wall();
    expect((await store.list()).sessions).toEqual([
      {
        id: "s",
        token: 2n,
        createdAt: time,
        lastSeq: 3,
        runs: 2,
        last: { seq: 3, token: 2n, time, runId: "r2", type: "started" },
      },
    ]);
  });

  test("ids that look alike are different sessions, and come back exact", async () => {
    const long = "x".repeat(300);
    const ids = [
      "A",
      "a",
      "a/b",
      "a-b",
      "a.b",
      "../../etc/passwd",
      ".",
      "..",
      " ",
      "é",
      "e\u0301",
      "\n",
      `${long}1`,
      `${long}2`,
    ];
    for (const id of ids) await store.create(id, 1n);
    for (const id of ids) await store.append(id, 1n, { runId: "r", type: "t", data: id });
    for (const id of ids) expect((await store.read(id)).events.map(({ data }) => data)).toEqual([id]);
    expect((await store.list()).sessions).toHaveLength(ids.length);
  });

  test.each([
    ["empty id", (s: SessionStore) => s.create("", 1n)],
    ["NUL", (s: SessionStore) => s.create("a\0b", 1n)],
    ["lone surrogate", (s: SessionStore) => s.create("\ud800", 1n)],
    ["long id", (s: SessionStore) => s.create("é".repeat(513), 1n)],
    ["no token", (s: SessionStore) => (s.create as (id: string) => Promise<void>)("s")],
    ["number token", (s: SessionStore) => s.open("s", 1 as unknown as bigint)],
    ["negative token", (s: SessionStore) => s.delete("s", -1n)],
    ["token above the top", (s: SessionStore) => s.create("s", 2n ** 63n)],
    ["no run", (s: SessionStore) => s.append("s", 1n, { runId: "", type: "t" })],
    ["no event", (s: SessionStore) => s.append("s", 1n, null as never)],
    ["bigint data", (s: SessionStore) => s.append("s", 1n, { runId: "r", type: "t", data: 1n as never })],
    ["NaN data", (s: SessionStore) => s.append("s", 1n, { runId: "r", type: "t", data: [Number.NaN] })],
    [
      "function data",
      (s: SessionStore) => s.append("s", 1n, { runId: "r", type: "t", data: { f: (() => 1) as never } }),
    ],
    ["too large", (s: SessionStore) => s.append("s", 1n, event("t", "x".repeat(4096)))],
    ["limit", (s: SessionStore) => s.read("s", { limit: 0 })],
    ["after", (s: SessionStore) => s.read("s", { after: -1 })],
    ["domain", (s: SessionStore) => s.adoptDomain("")],
  ])("refuses bad input: %s", async (_name, call) => {
    await store.create("s", 1n);
    await expect(call(store)).rejects.toMatchObject({ code: "invalid" });
    expect((await store.read("s")).events).toEqual([]);
  });

  test("circular data is refused with its cause", async () => {
    const data: { self?: unknown } = {};
    data.self = data;
    await store.create("s", 1n);
    await expect(store.append("s", 1n, event("t", data as JsonValue))).rejects.toMatchObject({
      code: "invalid",
      cause: {},
    });
  });

  test("contract store 6: the first lease domain wins, another is refused naming both, force replaces", async () => {
    expect(await store.domain()).toBeUndefined();
    const results = await Promise.allSettled([store.adoptDomain("one"), store.adoptDomain("two")]);
    const won = results[0].status === "fulfilled" ? ["one", "two"] : ["two", "one"];
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await store.domain()).toBe(won[0]);
    await store.adoptDomain(won[0] ?? "");
    await expect(store.adoptDomain(won[1] ?? "")).rejects.toMatchObject({
      code: "domain-mismatch",
      stored: won[0],
      offered: won[1],
    });
    await store.adoptDomain("none", { force: true });
    expect(await store.domain()).toBe("none");
  });

  test("appends asked for at once are written in that order", async () => {
    await store.create("s", 1n);
    const written = await Promise.all(
      Array.from({ length: 30 }, (_, index) => store.append("s", 1n, event(`e${index}`))),
    );
    expect(written.map(({ seq, type }) => `${seq} ${type}`)).toEqual(
      written.map((_, index) => `${index + 1} e${index}`),
    );
  });

  test("a watcher is told of an append, and no more once it has ended", async () => {
    await store.create("s", 1n);
    const told = latch();
    const end = store.watch?.("s", () => told.resolve());
    await store.append("s", 1n, event("a"));
    await told.promise;
    end?.();
    end?.();
    expect(() => store.watch?.("other", () => {})).toThrow(expect.objectContaining({ code: "unknown-session" }));
  });

  test("an aborted look is refused", async () => {
    await store.create("s", 1n);
    const reason = new Error("enough");
    await expect(store.highest("s", { signal: AbortSignal.abort(reason) })).rejects.toMatchObject({
      code: "aborted",
      cause: reason,
    });
  });

  test("a closed store refuses every call", async () => {
    await store.create("s", 1n);
    const writing = store.append("s", 1n, event("in flight"));
    await store.close();
    expect((await writing).seq).toBe(1);
    for (const call of [
      () => store.highest("s"),
      () => store.create("t", 1n),
      () => store.open("s", 1n),
      () => store.append("s", 1n, event("a")),
      () => store.read("s"),
      () => store.list(),
      () => store.delete("s", 1n),
      () => store.domain(),
      () => store.adoptDomain("one"),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "closed" });
    }
  });
});

function latch(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
