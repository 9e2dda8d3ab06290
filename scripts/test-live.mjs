#!/usr/bin/env node
// npm run test:live -- --minutes N: what is too long for npm test. So far that is the story of two servers that are killed and
// stopped all the time, ten minutes of it unless given, judged. The last line counts what the runner itself reported.
import { prepare } from "./prepare.mjs";
import { storyMinutes } from "./story-minutes.mjs";
import { runTests } from "./tool.mjs";

process.env.STORY_MINUTES = storyMinutes(10);
prepare();
const { code, passed, failed } = runTests("vitest-live", "--project=@leasehold/server", "test/story.test.ts");
console.log(`${passed} passed, ${failed} failed`);
process.exit(code !== 0 || failed > 0 || passed === 0 ? 1 : 0);
