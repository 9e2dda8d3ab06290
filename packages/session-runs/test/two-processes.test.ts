/** Cancel and interrupt between real processes over files. The ttl is a day: whoever waited for a renewal would fail. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { flocklease } from "@leasehold/flocklease";
import type { FullSessionLease } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SessionRuns } from "../src/index.js";

/** Ms, for a busy machine. A renewal would come after 48 minutes at the earliest. */
const TIMEOUT = 60_000;

let dir: string;
let lease: FullSessionLease;
let child: ChildProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "leasehold-two-"));
  lease = flocklease({ dir });
});
afterEach(async () => {
  child?.kill("SIGKILL");
  await lease.close();
  rmSync(dir, { recursive: true });
});

/** The lines of a process that holds the session; resolves when it does. */
async function holding(): Promise<{ ended: Promise<unknown>; lines: string[] }> {
  const file = fileURLToPath(new URL("children/holding.mjs", import.meta.url));
  const started = spawn(process.execPath, [file, dir], { stdio: ["pipe", "pipe", "inherit"] });
  child = started;
  const lines: string[] = [];
  const reader = createInterface({ input: started.stdout });
  reader.on("line", (line) => lines.push(line));
  const ended = once(started, "close");
  await once(reader, "line");
  return { ended, lines };
}

describe("contract runs 2: between two processes over files", () => {
  it("cancel stops a run of another process without waiting for its renewal", { timeout: TIMEOUT }, async () => {
    const { ended, lines } = await holding();
    const runs = new SessionRuns({ lease, ttl: 86_400_000 });
    expect(await runs.cancel("s", { runId: "held" })).toBe("asked");
    expect(await ended).toEqual([0, null]);
    expect(lines).toEqual(["running", "release_requested cancelled"]);
    expect(await runs.cancel("s")).toBe("none");
  });

  it("interrupt has the session as soon as its holder has let go", { timeout: TIMEOUT }, async () => {
    const { ended, lines } = await holding();
    const runs = new SessionRuns({ lease, ttl: 86_400_000 });
    const previous = await runs.run("s", { onBusy: "interrupt", waitMs: 50_000 }, (run) => run.previous);
    expect(previous).toMatchObject({ ended: "released" });
    await ended;
    expect(lines).toEqual(["running", "release_requested interrupted"]);
  });

  it("a killed holder's session is had at once by who waits for it", { timeout: TIMEOUT }, async () => {
    const { ended } = await holding();
    const runs = new SessionRuns({ lease, ttl: 86_400_000 });
    const previous = runs.run("s", { onBusy: "wait", waitMs: 50_000 }, (run) => run.previous);
    child?.kill("SIGKILL");
    await ended;
    expect(await previous).toMatchObject({ ended: "dead" });
  });
});
