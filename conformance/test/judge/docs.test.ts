/** The page's own history is one, and its table names every rule. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { judge, judgementToText, RULES, readHistory } from "../../src/judge/index.js";

const page = readFileSync(new URL("../../docs/histories.md", import.meta.url), "utf8");

test("the example is accepted", () => {
  const text = /```json\n(.*?)```/s.exec(page)?.[1] ?? "";
  const judgement = judge(readHistory([{ name: "histories.md", text }]));
  expect(judgement.accepted, judgementToText(judgement)).toBe(true);
  expect(judgement.counts).toMatchObject({ grants: 2, takeovers: 1, acknowledged: 1, kills: 1 });
});

test("the table has every rule and no other", () => {
  const named = [...page.matchAll(/^\| `([a-z-]+)` \| [A-Z]/gm)].map(([, rule]) => rule);
  expect(named).toEqual(Object.keys(RULES));
});
