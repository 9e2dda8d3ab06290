/** The app is built and served as its users would do it. Contract runs 3: its routes are bundles of their own, and share their runs. */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll } from "vitest";
import {
  behavesAsAServerOfYourOwn,
  endsAsAServerOfYourOwn,
  startPair,
  streamsToItsClient,
} from "../../test/own-server.js";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const next = createRequire(import.meta.url).resolve("next/dist/bin/next");
const env = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" as const };

beforeAll(async () => {
  await rm(`${cwd}/.next`, { recursive: true, force: true });
  await promisify(execFile)(process.execPath, [next, "build"], { cwd, env: { ...process.env, ...env } });
}, 600_000);

const pair = startPair([next, "start", "--hostname", "127.0.0.1"], { cwd, env });

behavesAsAServerOfYourOwn(pair);
streamsToItsClient(pair);
endsAsAServerOfYourOwn(pair, 143);
