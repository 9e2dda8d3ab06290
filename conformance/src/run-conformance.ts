import type { Check } from "./check.js";
import { Exam, type ExamOptions } from "./exam.js";
import { fieldFailuresOf } from "./field-failures.js";
import type { Report, Result } from "./report.js";
import { type Subject, subjectOf } from "./subject.js";

/** Examines the subject, check by check, and returns the whole report. Rejects only for options that make no sense. */
export async function runConformance(subject: Subject, options?: ExamOptions): Promise<Report> {
  const exam = new Exam(subject, options);
  for (const check of exam.checks) await exam.examine(check);
  return exam.report();
}

export interface RunnableCheck {
  readonly id: string;
  /** Id and sentence, for the name of a test. */
  readonly name: string;
  /** Resolves when the check passed, failed as expected, or is not applicable; rejects with what was wrong otherwise. */
  run(): Promise<Result>;
}

/** The exam as a list, for node:test, jest, mocha or any other runner: one test for each. */
export function checksFor(
  subject: Subject | string,
  openOrOptions?: Subject["open"] | ExamOptions,
  options?: ExamOptions,
): readonly RunnableCheck[] {
  const open = typeof openOrOptions === "function" ? openOrOptions : undefined;
  const exam = new Exam(subjectOf(subject, open), open === undefined ? (openOrOptions as ExamOptions) : options);
  return exam.checks.map((check) => ({
    id: check.id,
    name: nameOf(check),
    run: async () => {
      const result = await exam.examine(check);
      if (result.verdict === "failed") throw failureOf(result);
      return result;
    },
  }));
}

/** Id and sentence of a check, and the failures in the field that it answers for. */
export function nameOf({ id, sentence }: Pick<Check, "id" | "sentence">): string {
  const failures = fieldFailuresOf(id);
  return `${id}: ${sentence}${failures.length === 0 ? "" : ` [${failures.join(", ")}]`}`;
}

/** The error of a failed result, with its check's name in front. */
export function failureOf({ id, sentence, reason, error }: Result): Error {
  return new Error(`${id} (${sentence}) ${reason}`, { cause: error });
}
