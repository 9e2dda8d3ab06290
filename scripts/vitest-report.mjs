// What the JSON reporters of vitest have counted. As a program: prints the sum of the reports named, and fails unless all of
// them are there, something passed and nothing failed.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A report that cannot be read counts as one failure. */
export function countReport(path) {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(path, "utf8"));
    // A file that could not be run has failed without a test to show for it.
    const broken = testResults.filter(
      ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
    );
    return { passed: numPassedTests, failed: numFailedTests + broken.length };
  } catch (error) {
    console.error(`the test report could not be read: ${error.message}`);
    return { passed: 0, failed: 1 };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const counts = process.argv.slice(2).map(countReport);
  const passed = counts.reduce((sum, count) => sum + count.passed, 0);
  const failed = counts.reduce((sum, count) => sum + count.failed, 0);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
