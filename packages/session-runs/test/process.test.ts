/** What only a real process can show: a blocked loop, SIGSTOP, and the end of a program. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";

/** Ms, for a busy machine; nothing is asserted about how long anything takes. */
vi.setConfig({ testTimeout: 60_000 });

const started = new Set<ChildProcess>();

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
});

function start(name: string, ...args: string[]): ChildProcess {
  const file = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  started.add(child);
  return child;
}

async function outputOf(child: ChildProcess): Promise<string> {
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += String(chunk);
  });
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  return output;
}

describe("a blocked event loop", () => {
  it("B03: the first check after it refuses; nobody came, so the run goes on with the same token", async () => {
    const report: unknown = JSON.parse(await outputOf(start("blocked", "alone")));
    expect(report).toEqual({
      checks: ["held", "LeaseInDoubtError", "held"],
      aborted: [false, false, false],
      sameToken: true,
    });
  });

  it("B03: the first check after it refuses; somebody came, so the run is lost", async () => {
    const report: unknown = JSON.parse(await outputOf(start("blocked", "rival")));
    expect(report).toEqual({
      checks: ["held", "LeaseInDoubtError", "LeaseLostError"],
      aborted: [false, false, true],
      sameToken: true,
      error: "taken",
    });
  });
});

describe("a process stopped past its ttl", () => {
  it("is in doubt when it continues, and goes on with the same token", async () => {
    const child = start("stopped");
    const lines: string[] = [];
    const reader = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const seen = (wanted: string): Promise<void> =>
      new Promise((resolve) => {
        reader.on("line", (line) => line === wanted && resolve());
      });
    reader.on("line", (line) => lines.push(line));
    await seen("running");
    const doubted = seen("lease.in_doubt");
    child.kill("SIGSTOP");
    // Real time must pass: it is the child's own clock that is to run out.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    child.kill("SIGCONT");
    await doubted;
    child.stdin?.write("go on\n");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect(lines).toEqual([
      "lease.acquired",
      "running",
      "suspended",
      "lease.in_doubt",
      "same token: true",
      "suspended",
      "lease.released",
    ]);
  });
});

describe("the end of a program", () => {
  it("B18: is not put off by a run that it has left behind", async () => {
    expect(await outputOf(start("finished"))).toBe("held: 1");
  });

  it("is put off by a drain that it awaits", async () => {
    expect(await outputOf(start("draining"))).toBe("aborted: 1, released: 1");
  });
});
