import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench, Line } from "./line.js";

type Report = Readonly<{ testResults: readonly { startTime: number; endTime: number }[] }>;

const LIMITS = { memlease: 10, flocklease: 60 };

/** Seconds of the checks themselves, as vitest reports them. */
async function secondsOfExam(adapter: string): Promise<number> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
  const dir = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
  try {
    // Not its standard output, to which tests may write as well.
    const report = join(dir, "report.json");
    const args = [vitest, "run", `packages/${adapter}/test/conformance.test.ts`, "--reporter=json"];
    await promisify(execFile)(process.execPath, [...args, `--outputFile=${report}`], { cwd: root, maxBuffer: 2 ** 26 });
    const { testResults } = JSON.parse(await readFile(report, "utf8")) as Report;
    return testResults.reduce((sum, { startTime, endTime }) => sum + (endTime - startTime) / 1000, 0);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
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
