import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Leash, NO_END } from "../src/index.js";
import { expectGone, expectRunning, expectStopped, fixture, HolderProcess, inMs, statesOf } from "./holder-process.js";

vi.setConfig({ testTimeout: 60_000 });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "leash-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

it("contract leash 3: a dead watcher is replaced, the groups are registered again, and then the holder's death still ends them", async () => {
  const holder = new HolderProcess({ command: "sh", args: [fixture("stubborn-writer.sh"), join(dir, "log")] });
  try {
    const { id, watcher } = await holder.groupAt("running");
    process.kill(watcher, "SIGKILL");
    await holder.event("watcher-lost");
    // The holder stopped the group before it said so; only a new watcher that knows the group continues it.
    await expectRunning(id);
    await holder.kill();
    await expectGone(id);
  } finally {
    await holder.kill();
  }
});

it("the validity that a dead watcher knew is known to the next", async () => {
  const holder = new HolderProcess({ command: "sleep", args: ["60"], leash: { killAfterMs: 100 } });
  try {
    const { id, watcher } = await holder.groupAt("running");
    holder.order({ do: "extend", until: inMs(3_000) });
    await holder.event("done");
    process.kill(watcher, "SIGKILL");
    await holder.event("watcher-lost");
    await expectRunning(id);
    holder.freeze();
    await expectGone(id);
  } finally {
    await holder.kill();
  }
});

it("contract leash 3: a holder that dies while no watcher stands leaves a stopped group, named for its successor", async () => {
  const first = join(dir, "watcher.mjs");
  writeFileSync(first, `import ${JSON.stringify(fixture("../../dist/watcher.js"))};`);
  const holder = new HolderProcess({
    command: "sleep",
    args: ["60"],
    leash: { watcherFile: first, answerWithinMs: 30_000 },
  });
  const { id, watcher } = await holder.groupAt("running");
  try {
    writeFileSync(first, "setInterval(() => {}, 1_000);");
    process.kill(watcher, "SIGKILL");
    await holder.event("watcher-lost");
    await holder.kill();
    await expectStopped(id);
  } finally {
    await holder.kill();
    process.kill(-id, "SIGKILL");
  }
});

it("a watcher that answers no more is killed and replaced", async () => {
  let lost = () => {};
  const replaced = new Promise<void>((resolve) => {
    lost = resolve;
  });
  await using leash = new Leash({ answerWithinMs: 1_000, onWatcherLost: () => lost() });
  const child = await leash.spawn("sleep", ["60"], { validUntil: inMs(60_000) });
  const frozen = leash.watcherPid ?? 0;
  process.kill(frozen, "SIGSTOP");
  child.extend(inMs(60_000));
  await replaced;
  await expect.poll(() => leash.watcherPid, { timeout: 10_000 }).toBeGreaterThan(0);
  expect(leash.watcherPid).not.toBe(frozen);
  await expectRunning(child.group.id);
});

it("contract leash 3: groups that no watcher can be found for are killed, and say why", async () => {
  const file = join(dir, "watcher.mjs");
  writeFileSync(file, `import ${JSON.stringify(fixture("../../dist/watcher.js"))};`);
  await using leash = new Leash({ watcherFile: file });
  const children = await Promise.all(
    [1, 2].map(() => leash.spawn("sleep", ["60"], { validUntil: NO_END, stdio: "ignore" })),
  );
  rmSync(file);
  process.kill(leash.watcherPid ?? 0, "SIGKILL");
  for (const child of children) {
    await child.ended;
    expect(child.endedBy).toBe("unwatched");
    expect(statesOf(child.group.id)).toBe("");
  }
});

it("a hook that throws takes nothing down", async () => {
  const hook = vi.fn(() => {
    throw new Error("from the hook");
  });
  await using leash = new Leash({ onWatcherLost: hook });
  const child = await leash.spawn("sleep", ["60"], { validUntil: NO_END });
  process.kill(leash.watcherPid ?? 0, "SIGKILL");
  await expect.poll(() => hook.mock.calls.length, { timeout: 10_000 }).toBe(1);
  await expectRunning(child.group.id);
});

it("the signals of a terminal or a supervisor do not move the watcher", async () => {
  await using leash = new Leash();
  const child = await leash.spawn("sleep", ["60"], { validUntil: inMs(60_000) });
  const watcher = leash.watcherPid ?? 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(watcher, signal);
  child.suspend();
  child.extend(inMs(60_000));
  await expectRunning(child.group.id);
  expect(leash.watcherPid).toBe(watcher);
});
