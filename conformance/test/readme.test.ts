import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CHECKS, PART_MEANING } from "../src/index.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

test("the example in the README is the one that runs here", () => {
  const example = readFileSync(new URL("./example.test.ts", import.meta.url), "utf8");
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
});

test("the README names every part that a check may need, and how many checks there are", () => {
  for (const part of Object.keys(PART_MEANING)) expect(readme, part).toContain(`\`${part}\``);
  expect(readme).toContain(`${CHECKS.length} checks`);
});
