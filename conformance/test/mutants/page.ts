import { CHECKS } from "../../src/index.js";
import type { Mutant } from "./mutant.js";

const HEADING = `# The exam, examined

An exam is worth what it catches. Each lease below is sound but for one decision, and the exam is run on it. What it fails
is committed beside the mutant (\`test/mutants/\`), to the last check, and compared at every test run; that every check of
the exam is failed by some mutant is a test as well.

This page is printed from those mutants. \`npx vitest run --project=@leasehold/conformance test/matrix -u\` prints it anew.
`;

/** The matrix on paper, from both sides. */
export function mutantsPage(mutants: readonly Mutant[]): string {
  const rows = mutants.map(({ name, sentence, fails }) => `| ${name} | ${sentence} | ${ids(fails)} |`);
  const earned = CHECKS.map(({ id, level, sentence }) => {
    const by = mutants.filter(({ fails }) => fails.includes(id)).sort((a, b) => a.fails.length - b.fails.length);
    const [first] = by;
    const others = by.length > 1 ? ` and ${by.length - 1} more` : "";
    return `| ${id} | ${level} | ${sentence.replaceAll("|", "\\|")} | ${first?.name}${others} |`;
  });
  return [
    HEADING,
    `## ${mutants.length} mutants, and what each of them fails`,
    "",
    "| mutant | what it does wrong | fails |",
    "| --- | --- | --- |",
    ...rows,
    "",
    `## ${CHECKS.length} checks, and the mutant that earns each`,
    "",
    "The mutant named is the one that fails the fewest checks beside.",
    "",
    "| check | level | sentence | earned by |",
    "| --- | --- | --- | --- |",
    ...earned,
    "",
  ].join("\n");
}

function ids(fails: readonly string[]): string {
  return fails.map((id) => `\`${id}\``).join(" ");
}
