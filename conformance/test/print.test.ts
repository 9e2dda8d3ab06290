import { expect, test } from "vitest";
import { type Report, reportOf, toJson, toMarkdown, toSummary, toText } from "../src/index.js";

const result = { level: "MUST", stake: "truth", case: 7 } as const;
const report: Report = reportOf("a lease", "full", 3, [
  { ...result, id: "L07-a", sentence: "It holds.", verdict: "passed" },
  { ...result, id: "L07-b", sentence: "It holds | too.", verdict: "failed", reason: "a\nb", error: new Error("a") },
  { ...result, id: "L07-c", sentence: "It waits.", verdict: "not-applicable", reason: "nothing to wait for" },
]);

test("the summary is a sum", () => {
  expect(toSummary(report)).toBe(
    "a lease: 3 checks = 1 passed + 1 failed + 0 expected failures + 1 not applicable; does not conform to edition 1",
  );
});

test("the text names what did not pass", () => {
  expect(toText(report).split("\n").slice(1)).toEqual([
    "  failed           MUST   L07-b: a",
    "b",
    "  not-applicable   MUST   L07-c: nothing to wait for",
  ]);
});

test("the table has a row for every check, with cells that stay cells", () => {
  expect(toMarkdown(report)).toContain("| L07-b | MUST | It holds \\| too. | failed | a b |\n");
  expect(toMarkdown(report).match(/^\| L07/gm)).toHaveLength(3);
});

test("the JSON reads back, without the errors themselves", () => {
  const read = JSON.parse(toJson(report)) as Report;
  expect(read.counts).toEqual(report.counts);
  expect(read.results[1]).toEqual({
    ...result,
    id: "L07-b",
    sentence: "It holds | too.",
    verdict: "failed",
    reason: "a\nb",
  });
});
