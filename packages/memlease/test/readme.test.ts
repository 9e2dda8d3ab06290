/** The examples in the READMEs of the port and of this adapter run as printed, and say what their comments say. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const here = fileURLToPath(new URL("..", import.meta.url));

function examples(readme: string): string[] {
  const text = readFileSync(new URL(readme, import.meta.url), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
}

async function run(code: string): Promise<string> {
  const flags = ["--input-type=module", "--eval", code];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: here, timeout: 20_000 });
  return stdout;
}

test("session-lease", async () => {
  const [callers = "", authors = "", ...more] = examples("../../session-lease/README.md");
  expect(more).toEqual([]);
  expect(await run(callers)).toMatch(/^busy: look again in at most \d+ ms\nreleased\n$/);
  expect(await run(authors)).toBe("owner-1\n");
});

test("memlease", async () => {
  const [example = "", ...more] = examples("../README.md");
  expect(more).toEqual([]);
  expect(await run(example)).toBe("operator\n");
});
