#!/usr/bin/env node
// npm run judge FILE...: decides about one recorded history, whose events may stand in several files. --json for programs.
// Exit code: 0 accepted, 1 a rule is broken, 2 not a history, 3 too many possibilities to decide.
import { readFileSync } from "node:fs";
import { prepare } from "./prepare.mjs";

const files = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = process.argv.includes("--json");
if (files.length === 0) {
  console.error("usage: npm run judge -- FILE... [--json]");
  process.exit(2);
}
prepare({ folder: "conformance", quiet: true });
const { HistoryFormatError, judge, judgementToJson, judgementToText, readHistory } = await import(
  new URL("../conformance/dist/judge/index.js", import.meta.url)
);
try {
  const judgement = judge(readHistory(files.map((name) => ({ name, text: readFileSync(name, "utf8") }))));
  process.stdout.write(json ? judgementToJson(judgement) : judgementToText(judgement));
  process.exitCode = judgement.accepted ? 0 : judgement.violations.length > 0 ? 1 : 3;
} catch (error) {
  if (!(error instanceof HistoryFormatError) && error.code !== "ENOENT") throw error;
  console.error(error.message);
  process.exitCode = 2;
}
