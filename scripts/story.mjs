#!/usr/bin/env node
// npm run story -- --minutes N: two agent servers on one store, killed and stopped all the time, for N minutes (1 unless
// given). The judge reads the history afterwards; the counts are printed.
import { parseArgs } from "node:util";
import { pnpm } from "./pnpm.mjs";
import { prepare } from "./prepare.mjs";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "1" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= 1_440)) {
  console.error(`--minutes must be above 0 and 1440 at most, not ${values.minutes}`);
  process.exit(2);
}
prepare();
process.env.STORY_MINUTES = String(minutes);
process.exitCode = pnpm(["exec", "vitest", "run", "--project=@leasehold/server", "test/story.test.ts"]);
