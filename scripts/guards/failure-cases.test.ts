import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("every failure in the field that concerns what is here has a test that names it", () => {
  const script = fileURLToPath(new URL("../failure-cases.mjs", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout.trim().split("\n")).toHaveLength(55);
});
