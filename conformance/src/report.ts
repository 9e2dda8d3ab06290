/** A report that adds up: every check of the edition is in it once, with one verdict. */

import type { Effort } from "./bench.js";
import type { Level, Stake } from "./check.js";

/**
 * - `passed`: the sentence was found to be true.
 * - `failed`: it was not, or the check was expected to fail and passed.
 * - `expected-failure`: it was not, as the subject's author had said; `reason` is the author's.
 * - `not-applicable`: it was not tried; `reason` says what was missing.
 */
export type Verdict = "passed" | "failed" | "expected-failure" | "not-applicable";

export type Result = Readonly<{
  id: string;
  level: Level;
  stake: Stake;
  /** Case number in the contract, 0 for checks of the subject itself. */
  case: number;
  sentence: string;
  verdict: Verdict;
  /** Present for every verdict but `passed`. */
  reason?: string;
  /** What the check threw, for those who want its stack. */
  error?: unknown;
}>;

export type Counts = Readonly<{
  total: number;
  passed: number;
  failed: number;
  expectedFailures: number;
  notApplicable: number;
}>;

export type Report = Readonly<{
  subject: string;
  edition: "1";
  effort: Effort;
  counts: Counts;
  /**
   * `conforms`: full effort, nothing that is a MUST failed, expectedly or not. `passed-quick`: the same with quick effort,
   * which is not enough to say so. `does-not-conform`: everything else.
   */
  conclusion: "conforms" | "passed-quick" | "does-not-conform";
  results: readonly Result[];
}>;

/** `total`: the checks that there are. One that has no result yet leaves a report that does not add up. */
export function reportOf(subject: string, effort: Effort, total: number, results: readonly Result[]): Report {
  const count = (verdict: Verdict): number => results.filter((result) => result.verdict === verdict).length;
  const counts: Counts = {
    total,
    passed: count("passed"),
    failed: count("failed"),
    expectedFailures: count("expected-failure"),
    notApplicable: count("not-applicable"),
  };
  const broken =
    results.length < total ||
    results.some(({ level, verdict }) => level === "MUST" && (verdict === "failed" || verdict === "expected-failure"));
  const sound = effort === "full" ? "conforms" : "passed-quick";
  return { subject, edition: "1", effort, counts, conclusion: broken ? "does-not-conform" : sound, results };
}

/** What does not add up, in words; undefined when all is well. */
export function discrepancy({ counts, results }: Report): string | undefined {
  const { total, passed, failed, expectedFailures, notApplicable } = counts;
  if (total !== passed + failed + expectedFailures + notApplicable) {
    return `${total} checks, but ${passed} + ${failed} + ${expectedFailures} + ${notApplicable} verdicts`;
  }
  if (new Set(results.map(({ id }) => id)).size !== results.length) return "a check is in the report more than once";
  const silent = results.find(({ verdict, reason }) => verdict !== "passed" && !reason);
  return silent && `${silent.id} is ${silent.verdict} without a reason`;
}
