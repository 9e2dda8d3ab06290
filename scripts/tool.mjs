import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { countReport } from "./vitest-report.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a tool that has been installed; returns its exit code. pnpm, started for each, would take seconds. */
export function tool(name, ...args) {
  const result = spawnSync(`${root}node_modules/.bin/${name}`, args, { cwd: root, stdio: "inherit" });
  if (result.error) throw result.error;
  return result.status ?? 1;
}

/** Runs tests; what they counted is left in `reports/NAME.json`. Returns vitest's exit code and the counts. */
export function runTests(name, ...args) {
  const report = `${root}reports/${name}.json`;
  rmSync(report, { force: true });
  mkdirSync(`${root}reports`, { recursive: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const code = tool("vitest", "run", ...reporters, ...args);
  return { code, ...countReport(report) };
}
