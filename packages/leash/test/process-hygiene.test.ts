import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { expectGone } from "./holder-process.js";

vi.setConfig({ testTimeout: 60_000 });

const leash = JSON.stringify(fileURLToPath(new URL("../dist/index.js", import.meta.url)));

/** Runs a program to its own end; rejects if it does not come to one within 20 s. */
async function program(body: string): Promise<unknown> {
  const source = `const before = { names: process.eventNames(), resources: process.getActiveResourcesInfo() };
    const { Leash, NO_END } = await import(${leash});
    ${body}`;
  const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", source], { timeout: 20_000 });
  return JSON.parse((await run).stdout);
}

describe("a program that uses the leash", () => {
  it("gets no listener, handle or process by importing and constructing it", async () => {
    const seen = await program(`
      new Leash();
      // What the loading of a module leaves behind is closed by the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      const after = { names: process.eventNames(), resources: process.getActiveResourcesInfo() };
      console.log(JSON.stringify([before, after]));
    `);
    const [before, after] = seen as [unknown, unknown];
    expect(after).toEqual(before);
  });

  it("ends by itself with a watcher that stands idle, and the watcher goes too", async () => {
    const seen = await program(`
      const leash = new Leash();
      await leash.ready();
      const child = await leash.spawn("sh", ["-c", "exit 0"], { validUntil: NO_END, stdio: "ignore" });
      await child.ended;
      console.log(leash.watcherPid);
    `);
    await expectGone(Number(seen));
  });

  it("lives as long as its command", async () => {
    const seen = await program(`
      const child = await new Leash().spawn("sh", ["-c", "sleep 0.2 & exit 0"], { validUntil: NO_END, stdio: "ignore" });
      child.ended.then(() => console.log(JSON.stringify("to the end")));
    `);
    expect(seen).toBe("to the end");
  });

  it("takes its groups with it when it calls process.exit", async () => {
    const seen = await program(`
      const child = await new Leash().spawn("sleep", ["60"], { validUntil: NO_END, stdio: "ignore" });
      console.log(child.group.id);
      process.exit();
    `);
    await expectGone(Number(seen));
  });
});
