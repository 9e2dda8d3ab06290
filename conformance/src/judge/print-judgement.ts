/** A judgement as text for people and as JSON for programs. Both quote the lines of the history, so that a report replays alone. */

import type { Judgement } from "./judge.js";
import { RULES, type Violation } from "./rules.js";

export function judgementToText({ title, accepted, violations, undecided, unread, counts }: Judgement): string {
  const lines = title === undefined ? [] : [title];
  for (const violation of violations) lines.push("", ...violationLines(violation));
  for (const { session, reason } of undecided)
    lines.push("", `undecided: session ${JSON.stringify(session)}: ${reason}`);
  if (lines.length > 0) lines.push("");
  for (const session of unread) lines.push(`not read at the end: the log of session ${JSON.stringify(session)}`);
  lines.push(
    Object.entries(counts)
      .map(([what, number]) => `${number} ${what}`)
      .join(", "),
  );
  const verdict = undecided.length > 0 && violations.length === 0 ? "undecided" : `${violations.length} violations`;
  lines.push(accepted ? "accepted" : `not accepted: ${verdict}`);
  return `${lines.join("\n")}\n`;
}

function violationLines({ rule, session, sentence, evidence }: Violation): string[] {
  return [
    `${rule}: session ${JSON.stringify(session)}: ${sentence}`,
    `  rule: ${RULES[rule]}`,
    ...evidence.map(({ file, line, text }) => `  ${file}:${line}: ${text.trim()}`),
  ];
}

export function judgementToJson(judgement: Judgement): string {
  return `${JSON.stringify(judgement, null, 2)}\n`;
}
