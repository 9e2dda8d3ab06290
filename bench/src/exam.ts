import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench, Line } from "./line.js";

const LIMITS = { memlease: 10, flocklease: 60 };

/** Seconds of the checks themselves, as vitest reports them. */
async function secondsOfExam(adapter: string): Promise<number> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
  const args = [vitest, "run", `packages/${adapter}/test/conformance.test.ts`, "--reporter=json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 2 ** 26 });
  const { testResults } = JSON.parse(stdout) as { testResults: { startTime: number; endTime: number }[] };
  return testResults.reduce((sum, { startTime, endTime }) => sum + (endTime - startTime) / 1000, 0);
}

export const examBench: Bench = {
  name: "exam",
  async run(): Promise<readonly Line[]> {
    const lines: Line[] = [];
    for (const [adapter, limit] of Object.entries(LIMITS)) {
      lines.push({
        bench: "exam",
        what: `the whole exam on ${adapter}`,
        measured: await secondsOfExam(adapter),
        unit: "s",
        bound: { kind: "at most", limit },
      });
    }
    return lines;
  },
};
