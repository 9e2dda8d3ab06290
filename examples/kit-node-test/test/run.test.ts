import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const example = fileURLToPath(new URL("..", import.meta.url));

test("under node:test each check is a test, and those that do not apply are skipped", { timeout: 60_000 }, () => {
  // NODE_TEST_CONTEXT would make the child report to a parent that there is not.
  const { NODE_TEST_CONTEXT: _none, ...env } = process.env;
  const { stdout, status } = spawnSync(process.execPath, ["--test", "exam.mjs"], {
    cwd: example,
    env,
    encoding: "utf8",
  });
  const count = (what: string): number => Number(new RegExp(`^\\S+ ${what} (\\d+)$`, "m").exec(stdout)?.[1]);
  expect([status, count("fail")]).toEqual([0, 0]);
  expect(count("pass")).toBeGreaterThan(150);
  expect(count("pass") + count("skipped")).toBe(count("tests"));
});
