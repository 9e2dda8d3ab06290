#!/usr/bin/env node
// npm run test:live -- --minutes N: what is too long for npm test, or needs a service that takes minutes to get. First the
// adapters on the real services that they speak to; where one is not to be had, that is a failure. Then the story of two
// servers that are killed and stopped all the time, ten minutes of it unless given, judged. The last line counts what the
// runner itself reported.
import { prepare } from "./prepare.mjs";
import { storyMinutes } from "./story-minutes.mjs";
import { runTests } from "./tool.mjs";

process.env.STORY_MINUTES = storyMinutes(10);
prepare();
const runs = [
  runTests("vitest-services", "--project=live"),
  runTests("vitest-live", "--project=@leasehold/server", "test/story.test.ts"),
];
const sum = (key) => runs.reduce((all, run) => all + run[key], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
process.exit(runs.some(({ code, failed, passed }) => code !== 0 || failed > 0 || passed === 0) ? 1 : 0);
