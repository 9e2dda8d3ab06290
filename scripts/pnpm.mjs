#!/usr/bin/env node
// The pinned pnpm, fetched by npx: Node and git are all that has to be on the machine.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const PNPM = "pnpm@10.34.9";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs pnpm in the repository's root; returns the exit code. */
export function pnpm(args, options = {}) {
  const result = spawnSync("npx", ["--yes", PNPM, ...args], {
    cwd: root,
    stdio: "inherit",
    ...options,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", ...options.env },
  });
  if (result.error) throw result.error;
  return result.status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(pnpm(process.argv.slice(2)));
