#!/usr/bin/env node
// npm run sim: lives many simulated worlds and judges them. Arguments go to apps/simulator; see its README.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { prepare } from "./prepare.mjs";

prepare({ folder: "apps/simulator", quiet: true });
const main = fileURLToPath(new URL("../apps/simulator/dist/main.js", import.meta.url));
const { status } = spawnSync(process.execPath, [main, ...process.argv.slice(2)], { stdio: "inherit" });
process.exitCode = status ?? 1;
