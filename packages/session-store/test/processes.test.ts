/** The same promises between real processes on a real disk. */

import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonlSessionStore } from "../src/index.js";

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "session-store-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

interface Answer {
  readonly ok?: number | null;
  readonly error?: string;
  readonly highest?: string;
}

interface Standing {
  readonly highest: bigint | undefined;
  /** Types of the events; undefined when there is no session. */
  readonly types: readonly string[] | undefined;
}

class Holder implements AsyncDisposable {
  readonly #child = spawn(process.execPath, [fixture("holder.mjs"), directory], { stdio: ["pipe", "pipe", "inherit"] });
  readonly #answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  readonly #exited = new Promise((resolve) => this.#child.once("exit", resolve));

  constructor() {
    // A killed holder's pipe breaks; what that means shows in the answers that do not come.
    this.#child.stdin.on("error", () => {});
  }

  async ask(op: string, token: number, type?: string): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify({ op, token: String(token), type })}\n`);
    const { value } = await this.#answers.next();
    return JSON.parse(value as string) as Answer;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}

test("a stale writer is refused from another process, before the new holder's first event, and after a restart", async () => {
  await using a = new Holder();
  expect(await a.ask("create", 1)).toEqual({ ok: null });
  expect(await a.ask("append", 1, "a")).toEqual({ ok: 1 });
  await using b = new Holder();
  expect(await b.ask("open", 2)).toEqual({ ok: 1 });
  expect(await a.ask("append", 1, "late")).toEqual({ error: "stale-token", highest: "2" });
  await using c = new Holder();
  expect(await c.ask("append", 1, "late")).toEqual({ error: "stale-token", highest: "2" });
  expect(await c.ask("create", 1)).toEqual({ error: "stale-token", highest: "2" });
  expect(await c.ask("delete", 1)).toEqual({ error: "stale-token", highest: "2" });
  expect(await b.ask("append", 2, "b")).toEqual({ ok: 2 });
});

test("B60: pause, wake, write: a stopped holder that is continued after a takeover changes nothing", async () => {
  await using a = new Holder();
  await a.ask("create", 1);
  await a.ask("append", 1, "a");
  a.signal("SIGSTOP");
  const late = a.ask("append", 1, "late");
  await using store = new JsonlSessionStore({ directory });
  await store.open("s", 2n);
  await store.append("s", 2n, { runId: "r", type: "b" });
  a.signal("SIGCONT");
  expect(await late).toEqual({ error: "stale-token", highest: "2" });
  const { events } = await store.read("s");
  expect(events.map(({ seq, token, type }) => [seq, token, type])).toEqual([
    [1, 1n, "a"],
    [2, 2n, "b"],
  ]);
});

test("two processes that take turns, one killed in mid-flow every tenth turn, over 100 turns: one chain", {
  timeout: 120_000,
}, async () => {
  await using store = new JsonlSessionStore({ directory });
  await store.create("s", 1n);
  const acknowledged: string[] = [];
  const holders: [Holder, Holder] = [new Holder(), new Holder()];
  for (let turn = 2; turn <= 101; turn++) {
    const [driver, former] = turn % 2 === 0 ? holders : [holders[1], holders[0]];
    expect((await driver.ask("open", turn)).ok).toBeGreaterThanOrEqual(acknowledged.length);
    expect((await former.ask("append", turn - 1, "late")).error).toBe("stale-token");
    const note = async (type: string): Promise<void> => {
      if ((await driver.ask("append", turn, type)).ok !== undefined) acknowledged.push(type);
    };
    await note(`${turn} first`);
    if (turn % 10 !== 0) continue;
    const burst = ["b", "c", "d", "e", "f"].map((letter) => note(`${turn} ${letter}`));
    // What is on its way at the kill gets no answer; whether it was written the log will tell.
    const settled = Promise.allSettled(burst);
    await burst[1];
    await driver[Symbol.asyncDispose]();
    await settled;
    holders[turn % 2] = new Holder();
  }
  for (const holder of holders) await holder[Symbol.asyncDispose]();
  const { events } = await store.read("s", { limit: 1000 });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.map(({ token }) => token)).toEqual(events.map(({ token }) => token).sort((x, y) => Number(x - y)));
  const types = events.map(({ type }) => type);
  expect(new Set(types).size).toBe(types.length);
  expect(types.filter((type) => acknowledged.includes(type))).toEqual(acknowledged);
  expect(types).not.toContain("late");
});

describe("SIGKILL at every write to the file system", () => {
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
