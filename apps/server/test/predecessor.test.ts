import { Leash, NO_END } from "@leasehold/leash";
import { hostClock } from "@leasehold/session-lease";
import { MemorySessionStore, type SessionStore } from "@leasehold/session-store";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { succeed } from "../src/run/predecessor.js";
import { GROUP_KEY } from "../src/run/run-events.js";
import { RunWriter } from "../src/run/run-writer.js";
import { isDead } from "./processes.js";

const silent = pino({ level: "silent" });
const held = { sessionId: "s", assertHeld: () => {} };

async function succession(store: SessionStore, token: bigint): Promise<boolean> {
  return await succeed("s", new RunWriter(held, token, store, hostClock), store, silent);
}

async function logOf(...events: [runId: string, type: string][]): Promise<MemorySessionStore> {
  const store = new MemorySessionStore();
  await store.create("s", 1n);
  for (const [runId, type] of events) await store.append("s", 1n, { runId, type });
  return store;
}

describe("the next holder", () => {
  it.each([
    ["before the first run", []],
    [
      "after a run that finished",
      [
        ["r", "started"],
        ["r", "finished"],
      ],
    ],
    [
      "after one that failed",
      [
        ["r", "started"],
        ["r", "output"],
        ["r", "failed"],
      ],
    ],
    [
      "after one that was cancelled",
      [
        ["r", "started"],
        ["r", "cancelled"],
      ],
    ],
  ] as [string, [string, string][]][])("has nothing to clear up %s, but raises the fence", async (_, events) => {
    const store = await logOf(...events);
    expect(await succession(store, 2n)).toBe(false);
    expect((await store.read("s")).events).toHaveLength(events.length);
    await expect(store.append("s", 1n, { runId: "r", type: "output" })).rejects.toMatchObject({ code: "stale-token" });
  });

  it("ends a run without an end, under its own token and the run's id", async () => {
    const store = await logOf(["q", "started"], ["q", "finished"], ["r", "started"], ["r", "output"]);
    expect(await succession(store, 2n)).toBe(true);
    expect((await store.read("s")).events.at(-1)).toMatchObject({
      runId: "r",
      type: "failed",
      token: 2n,
      data: { recovered: true, reason: "abandoned" },
    });
    expect(await succession(store, 3n)).toBe(false);
  });

  it.each([1, 2, 63, 64, 65, 1_000])(
    "kills what is left of it, however far back it started: %d events",
    async (outputs) => {
      await using leash = new Leash();
      const child = await leash.spawn("sleep", ["60"], { validUntil: NO_END });
      const store = await logOf(["q", "started"], ["q", "finished"]);
      await store.append("s", 1n, {
        runId: "r",
        type: "started",
        data: { [GROUP_KEY]: JSON.parse(JSON.stringify(child.group)) },
      });
      for (let i = 0; i < outputs; i++) await store.append("s", 1n, { runId: "r", type: "output" });
      expect(await succession(store, 2n)).toBe(true);
      expect(isDead(child.group.id)).toBe(true);
      expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
    },
  );

  it("says that it failed only when nothing of it is left", async () => {
    const leash = new Leash();
    onTestFinished(() => leash.close());
    const child = await leash.spawn("sleep", ["60"], { validUntil: NO_END });
    const store = await logOf();
    await store.append("s", 1n, {
      runId: "r",
      type: "started",
      data: { [GROUP_KEY]: JSON.parse(JSON.stringify(child.group)) },
    });
    let aliveAtTheEnd: boolean | undefined;
    const watching = {
      sessionId: "s",
      assertHeld: () => {
        aliveAtTheEnd = !isDead(child.group.id);
      },
    };
    await succeed("s", new RunWriter(watching, 2n, store, hostClock), store, silent);
    expect(aliveAtTheEnd).toBe(false);
  });

  it.each([{ id: 1, mark: "x" }, { id: -5, mark: "x" }, "nonsense", null])(
    "signals nobody for a group that makes no sense: %j",
    async (group) => {
      const store = await logOf();
      await store.append("s", 1n, { runId: "r", type: "started", data: { [GROUP_KEY]: group } });
      expect(await succession(store, 2n)).toBe(true);
    },
  );
});
