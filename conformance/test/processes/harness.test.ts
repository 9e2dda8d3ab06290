/** What a harness does to processes is done, and is in the history. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hostClock } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DrivenProcess, Harness, type LeaseCalls, stateOf } from "../../src/processes/index.js";

const TTL = 30_000;

type HolderCalls = LeaseCalls & {
  wall(): number;
  fileCalls(path: string): Promise<string[]>;
  stopYourself(): void;
};

let root: string;
let harness: Harness;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "harness-"));
  harness = new Harness({ ttl: TTL, retries: true });
});
afterEach(async () => {
  await harness.close();
  rmSync(root, { recursive: true });
});

const module = (name: string): URL => new URL(`fixtures/${name}.mjs`, import.meta.url);
const start = (name: string, where = root): Promise<DrivenProcess<HolderCalls>> =>
  harness.start<HolderCalls>(name, module("holder"), { root: where });

describe("a process", () => {
  test("answers what it is asked, and refuses in the words of the error", async () => {
    const [a, b] = [await start("a"), await start("b")];
    const held = await a.ask("acquire", "s", "a");
    expect(held).toMatchObject({ sessionId: "s", owner: "a", ttl: TTL });
    expect(typeof held.token).toBe("bigint");
    const { error } = await b.try("acquire", "s", "b");
    expect(error).toMatchObject({ code: "held", retryAfterMs: expect.any(Number) });
    await expect(b.ask("acquire", "s", "b")).rejects.toThrow(/^acquire in b: held: /);
    expect(await a.ask("release")).toBe("released");
    expect(harness.findings()).toEqual([]);
    expect(harness.judge().counts).toMatchObject({ processes: 2, grants: 1, beliefs: 1 });
  });

  test("that does not know a call says so", async () => {
    const a = await harness.start("a", module("holder"), { root });
    await expect(a.ask("fly")).rejects.toThrow("does not know how to fly");
  });

  test("that is killed has ended, and what it believed is over", async () => {
    const [a, b] = [await start("a"), await start("b")];
    await a.ask("acquire", "s", "a");
    await a.kill();
    expect([a.hasEnded, harness.judge().counts.kills]).toEqual([true, 1]);
    expect((await b.try("acquire", "s", "b")).error?.code).toBe("held");
    expect(harness.findings()).toEqual([]);
  });

  test("is stopped until it is continued, and answers then", async () => {
    const a = await start("a");
    await a.stop();
    expect(stateOf(a.pid)).toBe("T");
    const answer = a.ask("acquire", "s", "a");
    expect(await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, "no answer"))])).toBe(
      "no answer",
    );
    a.continue();
    expect((await answer).owner).toBe("a");
  });

  test("that stops itself is noticed, and one that answers instead as well", async () => {
    const a = await start("a");
    const stopping = a.ask("stopYourself");
    expect(await a.stopsBefore(stopping)).toBe(true);
    a.continue();
    await stopping;
    expect(await a.stopsBefore(a.ask("wall"))).toBe(false);
  });

  test("whose loop is blocked answers nothing meanwhile", async () => {
    const a = await start("a");
    const began = hostClock.monotonic();
    const blocked = a.ask("block", 50);
    await a.ask("wall");
    expect(hostClock.monotonic() - began).toBeGreaterThanOrEqual(50);
    await blocked;
  });

  test("that ends before it is ready fails its start", async () => {
    await expect(harness.start("f", module("fails"))).rejects.toThrow(/f .*ended before it was ready/);
  });

  test("has a name of its own", async () => {
    await start("a");
    await expect(start("a")).rejects.toThrow("cannot be named a");
  });
});

test("the wall clock steps for all: those that are there, those that come later, and this process", async () => {
  const before = await start("before");
  await harness.step(3_600_000);
  const after = await start("after");
  for (const wall of [await before.ask("wall"), await after.ask("wall"), harness.clock.wall()]) {
    expect(Math.abs(wall - hostClock.wall() - 3_600_000)).toBeLessThan(60_000);
  }
  expect(harness.judge().counts.faults).toBe(1);
});

test("a step past the expiry excuses two that believe, and nothing but a step does", async () => {
  const [a, b] = [await start("a"), await start("b")];
  await a.ask("acquire", "s", "a");
  await harness.step(TTL);
  await b.ask("acquire", "s", "b");
  expect(harness.findings()).toEqual([]);
});

test("two that look in two places are convicted, with the lines that show it", async () => {
  const [a, b] = [await start("a"), await start("b", join(root, "elsewhere"))];
  await a.ask("acquire", "s", "a");
  await b.ask("acquire", "s", "b");
  const [finding] = harness.findings().filter((each) => each.startsWith("two-holders"));
  expect(finding).toMatch(/\n {2}a\.jsonl:\d+ \{"event":"believe"/);
});

test("a planted file is there, and the judge is told what it means", async () => {
  const path = join(root, "planted");
  harness.plant(path, "text", { fault: "corrupt", session: "s" });
  harness.plant(path, "other");
  expect([readFileSync(path, "utf8"), harness.judge().counts.faults]).toEqual(["other", 1]);
});

test("a program that was started by other means is ended with the rest", async () => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  const adopted = harness.adopt("sleeper", child);
  await harness.close();
  expect([adopted.hasEnded, child.signalCode]).toEqual([true, "SIGKILL"]);
});

test("calls of node:fs are noticed before they are made, also of a module that imported them by name", async () => {
  const a = await start("a");
  const names = await a.ask("fileCalls", fileURLToPath(module("holder")));
  expect(names[0]).toBe("readFileSync");
});
