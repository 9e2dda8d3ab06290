import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  expectGone,
  expectRunning,
  expectStopped,
  fixture,
  HolderProcess,
  type HolderTask,
  inMs,
  passed,
  shellWaitingFor,
  statesOf,
} from "./holder-process.js";

vi.setConfig({ testTimeout: 60_000 });

let dir: string;
let log: string;
let holder: HolderProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "leash-"));
  log = join(dir, "log");
});
afterEach(async () => {
  await holder?.kill();
  holder = undefined;
  rmSync(dir, { recursive: true });
});

function start(task: Partial<HolderTask> = {}): HolderProcess {
  holder = new HolderProcess({ command: "sh", args: [fixture("stubborn-writer.sh"), log], ...task });
  return holder;
}

/** Gives the group an end of validity. Returns when the holder has sent it. */
async function endIn(ms: number): Promise<void> {
  holder?.order({ do: "extend", until: inMs(ms) });
  await holder?.event("done");
}

const written = () => statSync(log, { throwIfNoEntry: false })?.size ?? 0;
describe("contract leash 1: a holder killed by SIGKILL", () => {
  it("takes its whole group with it, a grandchild that ignores SIGTERM too, and then the watcher goes", async () => {
    const { id, watcher } = await start().groupAt("running");
    await expect.poll(written).toBeGreaterThan(0);
    await holder?.kill();
    await expectGone(id);
    const size = written();
    await expectGone(watcher);
    // Nothing of the group can run, so nothing writes: the file stays as it was over three of the writer's periods.
    await passed(inMs(150));
    expect(written()).toBe(size);
  });

  it("between registration and gate leaves nothing, and nothing has run", async () => {
    const { id, watcher } = await start({ hangAt: "registered" }).groupAt("registered");
    await holder?.kill();
    await expectGone(id);
    await expectGone(watcher);
    expect(written()).toBe(0);
  });

  it("before registration leaves nothing, and nothing has run", async () => {
    // This watcher is ready and then acknowledges nothing, so that the holder waits with its group started and shut.
    const deaf = fixture("deaf-watcher.mjs");
    const mark = join(dir, "registering");
    start({ leash: { watcherFile: deaf, answerWithinMs: 60_000 }, args: ["-c", `echo ran >'${log}'`, mark] });
    const id = await shellWaitingFor(mark);
    await holder?.kill();
    await expectGone(id);
    expect(written()).toBe(0);
  });

  it("while suspended or stopped, its group is killed all the same", async () => {
    const { id } = await start().groupAt("running");
    holder?.order({ do: "suspend" });
    await expectStopped(id);
    await holder?.kill();
    await expectGone(id);
  });
});

describe("contract leash 1: validity that ends", () => {
  it("while the holder is stopped: the group is stopped, and killed if the holder stays away", async () => {
    const { id } = await start({ leash: { killAfterMs: 3_000 } }).groupAt("running");
    await endIn(1_000);
    holder?.freeze();
    await expectStopped(id);
    await expectGone(id);
    holder?.thaw();
    expect((await holder?.event("ended"))?.by).toBe("validity");
  });

  it("while the holder is stopped: continued by the extension of a holder that comes back in time", async () => {
    const { id } = await start({ leash: { killAfterMs: 30_000 } }).groupAt("running");
    await endIn(1_000);
    holder?.freeze();
    await expectStopped(id);
    const size = written();
    holder?.thaw();
    holder?.order({ do: "extend", until: inMs(60_000) });
    await expectRunning(id);
    await expect.poll(written).toBeGreaterThan(size);
  });

  it("while the holder's event loop is blocked: stopped and killed", async () => {
    const { id } = await start({ leash: { killAfterMs: 3_000 } }).groupAt("running");
    await endIn(1_000);
    holder?.order({ do: "block", ms: 60_000 });
    await holder?.event("blocking");
    await expectStopped(id);
    await expectGone(id);
  });

  it("5 s after the stop is when the kill comes, by default", async () => {
    const { id } = await start().groupAt("running");
    await endIn(1_000);
    holder?.freeze();
    await expectStopped(id);
    const stopped = inMs(0).monotonic;
    await expectGone(id);
    const elapsed = inMs(0).monotonic - stopped;
    expect(elapsed).toBeGreaterThan(4_500);
    expect(elapsed).toBeLessThan(8_000);
  });
});

describe("contract leash 1: a watcher that was stopped itself", () => {
  it("extends nothing by a message that it reads after the new end has passed", async () => {
    const leash = { killAfterMs: 300, answerWithinMs: 60_000 };
    const { id, watcher } = await start({ leash }).groupAt("running");
    process.kill(watcher, "SIGSTOP");
    const end = inMs(1_000);
    holder?.order({ do: "extend", until: end });
    await holder?.event("done");
    await passed(end);
    // Nobody has stopped it yet: its watcher sleeps.
    expect(statesOf(id)).toMatch(/^[RSD]+$/);
    process.kill(watcher, "SIGCONT");
    await expectGone(id);
    expect((await holder?.event("ended"))?.by).toBe("validity");
  });

  it("obeys an extension that came in time and waited in the pipe, although the kill is due by now", async () => {
    const leash = { killAfterMs: 3_000, answerWithinMs: 60_000 };
    const { id, watcher } = await start({ leash }).groupAt("running");
    await endIn(100);
    await expectStopped(id);
    process.kill(watcher, "SIGSTOP");
    const killDue = inMs(leash.killAfterMs);
    await endIn(120_000);
    await passed(killDue);
    process.kill(watcher, "SIGCONT");
    await expectRunning(id);
  });
});
