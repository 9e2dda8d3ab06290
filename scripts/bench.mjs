#!/usr/bin/env node
// npm run bench: install, build, measure. Arguments name the benches to run; all of them unless given.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { prepare } from "./prepare.mjs";

prepare({ quiet: true });
const main = fileURLToPath(new URL("../bench/dist/main.js", import.meta.url));
const { status } = spawnSync(process.execPath, ["--expose-gc", main, ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(status ?? 1);
