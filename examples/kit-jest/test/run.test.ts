import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { CHECKS } from "@leasehold/conformance";
import { expect, test } from "vitest";

const example = fileURLToPath(new URL("..", import.meta.url));
const jest = createRequire(import.meta.url).resolve("jest/bin/jest");

test("under jest each check is a test", { timeout: 60_000 }, () => {
  const args = ["--experimental-vm-modules", jest, "--json", "--watchman=false"];
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: example, encoding: "utf8" });
  const { numFailedTests, numPassedTests } = JSON.parse(stdout);
  expect([status, numFailedTests, numPassedTests]).toEqual([0, 0, CHECKS.length]);
});
