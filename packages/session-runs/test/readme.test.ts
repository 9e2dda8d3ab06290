/** The example in the README runs as printed, and says what its comments say. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the ten lines say what they say they do", { timeout: 60_000 }, async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [example = "", ...more] = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  expect(more).toEqual([]);
  const promised = [...example.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, said]) => said);
  expect(promised.length).toBeGreaterThan(1);
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", example], { cwd });
  expect(stdout.trimEnd().split("\n")).toEqual(promised);
});
