#!/usr/bin/env node
// npm test: install, build, lint, type-check, then every test that needs no root. Arguments go to vitest.
// The last line counts what the runner itself reported.
import { readFileSync } from "node:fs";
import { prepare } from "./prepare.mjs";
import { runTests, tool } from "./tool.mjs";

prepare();
const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const checked = [scripts.lint, scripts.types].every((command) => tool(...command.split(" ")) === 0);

// These end a test that hangs, on a machine however slow; no test asserts anything by them.
const limits = ["--testTimeout=60000", "--hookTimeout=60000"];
const { code, passed, failed } = runTests("vitest", ...limits, ...process.argv.slice(2));
if (!checked) console.error("lint or type check failed; see above");
console.log(`${passed} passed, ${failed} failed`);
process.exit(code !== 0 || !checked || failed > 0 || passed === 0 ? 1 : 0);
