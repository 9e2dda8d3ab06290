#!/usr/bin/env node
// npm test: install, build, lint, type-check, then every test that needs no root. Arguments go to vitest.
// The last line counts what the runner itself reported.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { prepare } from "./prepare.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const report = fileURLToPath(new URL("../reports/vitest.json", import.meta.url));

prepare();
const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const checked = [scripts.lint, scripts.types].every((command) => tool(...command.split(" ")) === 0);

rmSync(report, { force: true });
mkdirSync(new URL("../reports/", import.meta.url), { recursive: true });
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
// These end a test that hangs, on a machine however slow; no test asserts anything by them.
const limits = ["--testTimeout=60000", "--hookTimeout=60000"];
const code = tool("vitest", "run", ...reporters, ...limits, ...process.argv.slice(2));

const { passed, failed } = count();
if (!checked) console.error("lint or type check failed; see above");
console.log(`${passed} passed, ${failed} failed`);
process.exit(code !== 0 || !checked || failed > 0 || passed === 0 ? 1 : 0);

/** Runs a tool that has been installed; returns its exit code. pnpm, started for each, would take seconds. */
function tool(name, ...args) {
  const result = spawnSync(`${root}node_modules/.bin/${name}`, args, { cwd: root, stdio: "inherit" });
  if (result.error) throw result.error;
  return result.status ?? 1;
}

function count() {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
    // A file that could not be run has failed without a test to show for it.
    const broken = testResults.filter(
      ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
    );
    return { passed: numPassedTests, failed: numFailedTests + broken.length };
  } catch (error) {
    console.error(`the test report could not be read: ${error.message}`);
    return { passed: 0, failed: 1 };
  }
}
