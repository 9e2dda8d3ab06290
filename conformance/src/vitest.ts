/** The exam in vitest: one test for each check, and one for the report. */

import { describe, expect, test } from "vitest";
import { Exam, type ExamOptions } from "./exam.js";
import { toSummary } from "./print.js";
import { discrepancy } from "./report.js";
import { failureOf, nameOf } from "./run-conformance.js";
import { type Subject, subjectOf } from "./subject.js";

/** Ms; the exam ends a check that hangs itself, and says so better. */
const TIMEOUT = 620_000;

/**
 * Declares the tests: `conformanceTests("memlease", () => ({ lease, advance }))`, or with a whole subject. A check that is
 * not applicable shows as skipped, with the reason; the last test fails unless the report adds up and prints its counts.
 */
export function conformanceTests(subject: Subject, options?: ExamOptions): void;
export function conformanceTests(name: string, open: Subject["open"], options?: ExamOptions): void;
export function conformanceTests(
  subject: Subject | string,
  openOrOptions?: Subject["open"] | ExamOptions,
  options?: ExamOptions,
): void {
  const open = typeof openOrOptions === "function" ? openOrOptions : undefined;
  const exam = new Exam(subjectOf(subject, open), open === undefined ? (openOrOptions as ExamOptions) : options);
  describe(`conformance of ${exam.subject.name}`, () => {
    for (const check of exam.checks) {
      test(nameOf(check), { timeout: TIMEOUT }, async ({ skip }) => {
        const result = await exam.examine(check);
        if (result.verdict === "failed") throw failureOf(result);
        if (result.verdict === "not-applicable") skip(result.reason);
      });
    }
    test("the report adds up", () => {
      const report = exam.report();
      process.stdout.write(`${toSummary(report)}\n`);
      expect(discrepancy(report)).toBeUndefined();
      expect(report.counts.total).toBeGreaterThan(0);
    });
  });
}
