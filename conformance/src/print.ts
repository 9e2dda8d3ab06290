/** A report on paper: one line, a table, or data. */

import type { Report, Result } from "./report.js";

const CONCLUSION: Readonly<Record<Report["conclusion"], string>> = {
  conforms: "conforms to edition 1",
  "passed-quick": "passed with quick effort, which is too little to say that it conforms",
  "does-not-conform": "does not conform to edition 1",
};

/** One line with the counts. */
export function toSummary({ subject, counts, conclusion }: Report): string {
  const { total, passed, failed, expectedFailures, notApplicable } = counts;
  const parts = `${passed} passed + ${failed} failed + ${expectedFailures} expected failures + ${notApplicable} not applicable`;
  return `${subject}: ${total} checks = ${parts}; ${CONCLUSION[conclusion]}`;
}

/** A line for each check that did not pass, under the summary. */
export function toText(report: Report): string {
  const lines = report.results
    .filter(({ verdict }) => verdict !== "passed")
    .map(({ id, level, verdict, reason }) => `  ${verdict.padEnd(16)} ${level.padEnd(6)} ${id}: ${reason}`);
  return [toSummary(report), ...lines].join("\n");
}

/** JSON without what cannot be written down (the errors themselves). */
export function toJson(report: Report): string {
  return JSON.stringify(report, (key, value: unknown) => (key === "error" ? undefined : value), 2);
}

/** A Markdown table of every check. */
export function toMarkdown(report: Report): string {
  const row = ({ id, level, sentence, verdict, reason = "" }: Result): string =>
    `| ${[id, level, sentence, verdict, reason].map(cell).join(" | ")} |`;
  return [
    `# ${report.subject}`,
    "",
    toSummary(report),
    "",
    "| check | level | sentence | verdict | reason |",
    "| --- | --- | --- | --- | --- |",
    ...report.results.map(row),
    "",
  ].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
}
