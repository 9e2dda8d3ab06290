#!/usr/bin/env node
// Which test answers for which failure in the field. Exits with 1 if a case that is not of a later part has none.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { CHECKS, FIELD_FAILURES } from "../conformance/dist/index.js";

const root = fileURLToPath(new URL("..", import.meta.url));

function* testFiles(dir) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.name === "node_modules" || entry.name === "dist") continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* testFiles(path);
    else if (entry.name.endsWith(".test.ts")) yield path;
  }
}

const files = ["packages", "apps", "conformance"]
  .flatMap((dir) => [...testFiles(join(root, dir))])
  .map((path) => ({ path: relative(root, path), text: readFileSync(path, "utf8") }));
const checks = new Set(CHECKS.map(({ id }) => id));

let missing = 0;
for (const [id, { title, checks: named = [], later }] of Object.entries(FIELD_FAILURES)) {
  const unknown = named.filter((check) => !checks.has(check));
  const tests = files.filter(({ text }) => new RegExp(`\\b${id}\\b`).test(text)).map(({ path }) => path);
  const answers = [...named.map((check) => `exam ${check}`), ...tests];
  const verdict = later !== undefined ? `to come with ${later}` : answers.join(", ") || "NO TEST";
  console.log(`${id}  ${title}: ${verdict}`);
  if (unknown.length > 0) console.error(`${id} names checks that do not exist: ${unknown.join(", ")}`);
  if (unknown.length > 0 || (later === undefined && answers.length === 0)) missing += 1;
}
if (missing > 0) console.error(`${missing} cases are without a test`);
process.exitCode = missing > 0 ? 1 : 0;
