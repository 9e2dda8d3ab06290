/** The page of capabilities says what the adapters declare, and leaves none of them out. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/capabilities.md"), "utf8");

it("is the page that the adapters print", () => {
  const printed = spawnSync(process.execPath, ["scripts/capabilities.mjs", "--print"], { cwd: root, encoding: "utf8" });
  expect(printed.stderr).toBe("");
  expect(page, "run: node scripts/capabilities.mjs").toBe(printed.stdout);
});

it("has a column for every adapter", () => {
  const adapters = readdirSync(join(root, "packages")).filter(
    (name) => name !== "session-lease" && /lease$/.test(name),
  );
  expect(adapters).not.toEqual([]);
  const headings = page.split("\n").filter((line) => line.startsWith("| capability"));
  expect(headings).toHaveLength(2);
  for (const heading of headings) expect(heading.split(" | ")).toEqual(expect.arrayContaining(adapters));
});
