/** The same promises between real processes on a real disk. */

import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DrivenProcess, Harness, recordStore } from "@leasehold/conformance/processes";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isStaleToken, JsonlSessionStore } from "../src/index.js";

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "session-store-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

interface Standing {
  readonly highest: bigint | undefined;
  /** Types of the events; undefined when there is no session. */
  readonly types: readonly string[] | undefined;
}

type HolderCalls = {
  create(token: bigint): Promise<void>;
  /** The last seq. */
  open(token: bigint): Promise<number>;
  /** The seq. */
  append(token: bigint, type: string): Promise<number>;
  erase(token: bigint): Promise<boolean>;
};

let holders = 0;

/** A process of its own on the directory. */
function startHolder(harness: Harness, where: string = directory): Promise<DrivenProcess<HolderCalls>> {
  holders += 1;
  const module = new URL("fixtures/holder.mjs", import.meta.url);
  return harness.start<HolderCalls>(`holder-${holders}`, module, { directory: where });
}

/** Shows the judge what is left, and asserts that nothing is wrong with how it came to be. */
async function expectAccepted(harness: Harness, store: JsonlSessionStore): Promise<void> {
  const { events } = await store.read("s", { limit: 1000 });
  harness.log(
    "s",
    events.map(({ seq, token, type }) => ({ seq, token, write: type })),
  );
  expect(harness.findings()).toEqual([]);
}

test("contract store 1: a stale writer is refused from another process, before the new holder's first event, and after a restart", async () => {
  await using harness = new Harness();
  const stale = { error: { code: "stale-token", highest: 2n } };
  const a = await startHolder(harness);
  await a.ask("create", 1n);
  expect(await a.ask("append", 1n, "a")).toBe(1);
  const b = await startHolder(harness);
  expect(await b.ask("open", 2n)).toBe(1);
  expect(await a.try("append", 1n, "late")).toMatchObject(stale);
  const c = await startHolder(harness);
  expect(await c.try("append", 1n, "late")).toMatchObject(stale);
  expect(await c.try("create", 1n)).toMatchObject(stale);
  expect(await c.try("erase", 1n)).toMatchObject(stale);
  expect(await b.ask("append", 2n, "b")).toBe(2);
  await using store = new JsonlSessionStore({ directory });
  await expectAccepted(harness, store);
});

test("contract store 1, B60: pause, wake, write: a stopped holder that is continued after a takeover changes nothing", async () => {
  await using harness = new Harness();
  const a = await startHolder(harness);
  await a.ask("create", 1n);
  await a.ask("append", 1n, "a");
  await a.stop();
  const late = a.try("append", 1n, "late");
  await using store = new JsonlSessionStore({ directory });
  recordStore(store, harness.recorderOf("successor"), { isStale: isStaleToken, markOf: ({ type }) => type });
  await store.open("s", 2n);
  await store.append("s", 2n, { runId: "r", type: "b" });
  a.continue();
  expect(await late).toMatchObject({ error: { code: "stale-token", highest: 2n } });
  const { events } = await store.read("s");
  expect(events.map(({ seq, token, type }) => [seq, token, type])).toEqual([
    [1, 1n, "a"],
    [2, 2n, "b"],
  ]);
  await expectAccepted(harness, store);
});

test("contract store 4: two processes that take turns, one killed in mid-flow every tenth turn, over 100 turns: one chain", {
  timeout: 120_000,
}, async () => {
  await using harness = new Harness();
  await using store = new JsonlSessionStore({ directory });
  await store.create("s", 1n);
  const acknowledged: string[] = [];
  const pair = [await startHolder(harness), await startHolder(harness)];
  for (let turn = 2n; turn <= 101n; turn++) {
    const place = Number(turn % 2n);
    const [driver, former] = [pair[place], pair[1 - place]];
    if (driver === undefined || former === undefined) throw new Error("there are two of them");
    expect(await driver.ask("open", turn)).toBeGreaterThanOrEqual(acknowledged.length);
    expect((await former.try("append", turn - 1n, "late")).error?.code).toBe("stale-token");
    const note = async (type: string): Promise<void> => {
      if ((await driver.try("append", turn, type)).error === undefined) acknowledged.push(type);
    };
    await note(`${turn} first`);
    if (turn % 10n !== 0n) continue;
    const burst = ["b", "c", "d", "e", "f"].map((letter) => note(`${turn} ${letter}`));
    // What is on its way at the kill gets no answer; whether it was written the log will tell.
    await burst[1];
    await driver.kill();
    pair[place] = await startHolder(harness);
  }
  const { events } = await store.read("s", { limit: 1000 });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.map(({ token }) => token)).toEqual(events.map(({ token }) => token).sort((x, y) => Number(x - y)));
  const types = events.map(({ type }) => type);
  expect(new Set(types).size).toBe(types.length);
  expect(types.filter((type) => acknowledged.includes(type))).toEqual(acknowledged);
  expect(types).not.toContain("late");
  const { counts } = harness.judge();
  expect(counts.kills).toBe(10);
  // A holder may have written an answer down that died with it on its way here.
  expect(counts.acknowledged).toBeGreaterThanOrEqual(acknowledged.length);
  await expectAccepted(harness, store);
});

test("two processes that write in two places are convicted of it: there is no fence between them", async () => {
  await using harness = new Harness();
  const a = await startHolder(harness);
  await a.ask("create", 1n);
  const b = await startHolder(harness, join(directory, "elsewhere"));
  await b.ask("create", 2n);
  await a.ask("append", 1n, "late");
  await b.ask("append", 2n, "b");
  await using store = new JsonlSessionStore({ directory });
  const { events } = await store.read("s");
  harness.log(
    "s",
    events.map(({ seq, token, type }) => ({ seq, token, write: type })),
  );
  const rules = harness.judge().violations.map(({ rule }) => rule);
  expect(new Set(rules)).toEqual(new Set(["stale-write", "lost-write"]));
});

describe("contract store 3: SIGKILL at every write to the file system", () => {
  /** What stands after so many calls of the fixture's life. */
  const AFTER: readonly Standing[] = [
    { highest: undefined, types: undefined },
    { highest: 1n, types: [] },
    { highest: 1n, types: [] },
    { highest: 1n, types: ["a"] },
    { highest: 1n, types: ["a", "b"] },
    { highest: 2n, types: undefined },
    { highest: 3n, types: [] },
    { highest: 3n, types: ["c"] },
  ];

  function live(killAt: number, bytes: number): { acknowledged: number; steps?: number; appends: number[] } {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [fixture("life.mjs"), directory, String(killAt), String(bytes)],
      {
        encoding: "utf8",
      },
    );
    expect(stderr).toBe("");
    const lines = stdout.split("\n").slice(0, -1);
    const acknowledged = lines.filter((line) => line === "acknowledged").length;
    const end =
      lines.length > acknowledged
        ? (JSON.parse(lines.at(-1) ?? "") as { steps: number; appends: number[] })
        : undefined;
    return { acknowledged, ...(end ?? { appends: [] }) };
  }

  async function standing(store: JsonlSessionStore): Promise<Standing> {
    const highest = await store.highest("s");
    const { sessions } = await store.list();
    if (sessions.length === 0) return { highest, types: undefined };
    return { highest, types: (await store.read("s")).events.map(({ type }) => type) };
  }

  test("everything acknowledged stands, the call cut short happened or did not, and the next holder goes on", {
    timeout: 300_000,
  }, async () => {
    const { steps = 0, appends, acknowledged } = live(0, 0);
    expect(acknowledged).toBe(AFTER.length - 1);
    expect(steps).toBeGreaterThan(25);
    let deaths = 0;
    for (let killAt = 1; killAt <= steps; killAt++) {
      // Only an append has a middle to die in.
      for (const bytes of appends.includes(killAt) ? [0, 20, -1] : [0]) {
        await rm(directory, { recursive: true });
        const told = live(killAt, bytes);
        expect(told.steps, `step ${killAt}`).toBeUndefined();
        deaths++;
        await using store = new JsonlSessionStore({ directory });
        const found = await standing(store);
        expect([AFTER[told.acknowledged], AFTER[told.acknowledged + 1]], `step ${killAt}`).toContainEqual(found);
        if (found.types === undefined) await store.create("s", 9n);
        const { lastSeq } = await store.open("s", 9n);
        expect((await store.append("s", 9n, { runId: "r", type: "next" })).seq).toBe(lastSeq + 1);
        await expect(store.append("s", 3n, { runId: "r", type: "late" })).rejects.toMatchObject({
          code: "stale-token",
        });
        expect((await standing(store)).types).toEqual([...(found.types ?? []), "next"]);
      }
    }
    expect(deaths).toBe(steps + 2 * appends.length);
  });
});
