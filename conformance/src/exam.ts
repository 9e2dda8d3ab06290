/**
 * The exam of one subject: runs checks, remembers results, makes the report. Every runner (the plain one, vitest's, and
 * any other) is a loop around it.
 */

import { Bench, type Effort } from "./bench.js";
import { type Check, caseOf } from "./check.js";
import { CHECKS } from "./checks.js";
import { CheckFailure } from "./expectation.js";
import { orGiveUp } from "./patience-clock.js";
import { type Report, type Result, reportOf } from "./report.js";
import { hasPart, PART_MEANING, type Subject } from "./subject.js";

/** Ms of real time after which a check has hung: in memory, and where thousands of requests have to reach something slow. */
const HUNG = 60_000;
const HUNG_ELSEWHERE = 600_000;

export interface ExamOptions {
  /**
   * `full` unless given. `quick` makes rounds few, for stores where every request costs; a report from it never says
   * `conforms`.
   */
  readonly effort?: Effort | undefined;
  /** The set of checks; a later edition may ask for more. "1" unless given. */
  readonly edition?: "1" | undefined;
  /**
   * Ids of checks that are known to fail, each with the reason. They are run, and must fail. Checks of ownership and
   * fencing cannot be among them.
   */
  readonly expectedFailures?: Readonly<Record<string, string>> | undefined;
}

/** Stakes whose checks may not be expected to fail. */
const NEVER_EXPECTED: ReadonlySet<string> = new Set(["ownership", "fencing", "subject"]);

export class Exam {
  readonly subject: Subject;
  readonly checks: readonly Check[];
  readonly #effort: Effort;
  readonly #expected: ReadonlyMap<string, string>;
  readonly #results = new Map<string, Result>();

  /** Throws `RangeError` for an edition that there is not, and for an expected failure that may not be one. */
  constructor(subject: Subject, options: ExamOptions = {}, checks: readonly Check[] = CHECKS) {
    const { effort = "full", edition = "1", expectedFailures = {} } = options;
    if (edition !== "1") throw new RangeError(`there is no edition ${JSON.stringify(edition)}; there is "1"`);
    this.subject = subject;
    this.checks = checks;
    this.#effort = effort;
    this.#expected = new Map(Object.entries(expectedFailures));
    for (const [id, reason] of this.#expected) {
      const check = checks.find((candidate) => candidate.id === id);
      if (check === undefined) throw new RangeError(`no check is named "${id}", so it cannot be expected to fail`);
      if (NEVER_EXPECTED.has(check.stake)) {
        throw new RangeError(`"${id}" is about ${check.stake}, and such a check is never expected to fail`);
      }
      if (reason.trim() === "") throw new RangeError(`why "${id}" is expected to fail must be said`);
    }
  }

  /** Runs one check on a fresh lease. Never rejects: whatever goes wrong is the result. */
  async examine(check: Check): Promise<Result> {
    const { id, level, stake, sentence } = check;
    const base = { id, level, stake, case: caseOf(check), sentence };
    const found = await this.#run(check);
    const result: Result = { ...base, ...this.#judge(check, found) };
    this.#results.set(id, result);
    return result;
  }

  /** In the order of the exam. It adds up once every check has been examined. */
  report(): Report {
    const results = this.checks.flatMap(({ id }) => this.#results.get(id) ?? []);
    return reportOf(this.subject.name, this.#effort, this.checks.length, results);
  }

  #judge({ id }: Check, found: Finding): Pick<Result, "verdict" | "reason" | "error"> {
    const expected = this.#expected.get(id);
    if (found.kind === "missing") {
      // What is not tried cannot be expected to fail: the entry is stale.
      if (expected === undefined) return { verdict: "not-applicable", reason: found.reason };
      return { verdict: "failed", reason: `expected to fail (${expected}), but not applicable: ${found.reason}` };
    }
    if (found.kind === "true") {
      if (expected === undefined) return { verdict: "passed" };
      return { verdict: "failed", reason: `expected to fail (${expected}), but passed: the entry is stale` };
    }
    const { error } = found;
    if (expected !== undefined) return { verdict: "expected-failure", reason: expected, error };
    return { verdict: "failed", reason: error instanceof Error ? error.message : String(error), error };
  }

  async #run(check: Check): Promise<Finding> {
    const { clock, inMemory } = this.subject;
    const limit = inMemory === true && clock !== "real" ? HUNG : HUNG_ELSEWHERE;
    const hung = (): Error => new CheckFailure(`the check had not ended after ${limit / 1000} s`);
    try {
      return await orGiveUp(this.#find(check), limit, hung);
    } catch (error) {
      return { kind: "false", error };
    }
  }

  async #find(check: Check): Promise<Finding> {
    const bench = await Bench.open(this.subject, this.#effort);
    let found: Finding;
    try {
      const reason = missing(check, bench);
      if (reason === undefined) await check.body(bench);
      found = reason === undefined ? { kind: "true" } : { kind: "missing", reason };
    } catch (error) {
      // What the check saw is the finding; that closing then fails as well is its consequence as likely as not.
      await bench.close().catch(() => undefined);
      return { kind: "false", error };
    }
    await bench.close();
    return found;
  }
}

type Finding =
  | Readonly<{ kind: "true" }>
  | Readonly<{ kind: "false"; error: unknown }>
  | Readonly<{ kind: "missing"; reason: string }>;

function missing({ needs = [], requires = [] }: Check, bench: Bench): string | undefined {
  const power = needs.find((capability) => !bench.declares(capability));
  if (power !== undefined) return `the lease declares no ${power}`;
  const part = requires.find((candidate) => !hasPart(bench.subject, bench.opened, candidate));
  return part && `it is needed that ${PART_MEANING[part]}`;
}
