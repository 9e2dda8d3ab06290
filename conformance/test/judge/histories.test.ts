/** The hand-written histories: every good one is accepted, every bad one convicted of exactly the rules that it names. */

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Judgement, judge, judgementToText, RULES, readHistory } from "../../src/judge/index.js";

const folder = (kind: "good" | "bad"): URL => new URL(`histories/${kind}/`, import.meta.url);
const namesIn = (kind: "good" | "bad"): string[] => readdirSync(folder(kind)).sort();

function judged(kind: "good" | "bad", name: string): { judgement: Judgement; breaks: readonly string[] } {
  const history = readHistory([{ name, text: readFileSync(new URL(name, folder(kind)), "utf8") }]);
  return { judgement: judge(history), breaks: history.breaks };
}

const brokenRules = ({ violations }: Judgement): string[] => [...new Set(violations.map(({ rule }) => rule))].sort();

describe("accepted", () => {
  test.each(namesIn("good"))("%s", (name) => {
    const { judgement, breaks } = judged("good", name);
    expect(breaks).toEqual([]);
    expect(judgement.accepted, judgementToText(judgement)).toBe(true);
  });
});

describe("convicted of what it names", () => {
  test.each(namesIn("bad"))("%s", (name) => {
    const { judgement, breaks } = judged("bad", name);
    expect(brokenRules(judgement), judgementToText(judgement)).toEqual([...breaks].sort());
    expect(judgement.accepted).toBe(false);
  });
});

describe("the rules", () => {
  const named = namesIn("bad").flatMap((name) => judged("bad", name).breaks);

  test.each(Object.keys(RULES))("%s is broken by at least two histories", (rule) => {
    expect(named.filter((each) => each === rule).length).toBeGreaterThanOrEqual(2);
  });

  test.each(Object.keys(RULES))("%s is broken by a history that breaks nothing else", (rule) => {
    const alone = namesIn("bad").filter((name) => judged("bad", name).breaks.join() === rule);
    expect(alone).not.toEqual([]);
  });
});
