#!/usr/bin/env node
// npm run story -- --minutes N: two agent servers on one store, killed and stopped all the time, for N minutes (1 unless
// given). The judge reads the history afterwards; the counts are printed.
import { prepare } from "./prepare.mjs";
import { storyMinutes } from "./story-minutes.mjs";
import { tool } from "./tool.mjs";

process.env.STORY_MINUTES = storyMinutes(1);
prepare();
process.exitCode = tool("vitest", "run", "--project=@leasehold/server", "test/story.test.ts");
