import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const example = fileURLToPath(new URL("..", import.meta.url));
const mocha = createRequire(import.meta.url).resolve("mocha/bin/mocha.js");

test("under mocha each check is a test, and those that do not apply are pending", { timeout: 60_000 }, () => {
  const args = [mocha, "--reporter", "json", "exam.mjs"];
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: example, encoding: "utf8" });
  const { stats } = JSON.parse(stdout);
  expect([status, stats.failures]).toEqual([0, 0]);
  expect(stats.passes).toBeGreaterThan(150);
  expect(stats.passes + stats.pending).toBe(stats.tests);
});
