import { describe, expect, test } from "vitest";
import {
  CHECKS,
  type Check,
  CheckFailure,
  checksFor,
  discrepancy,
  Exam,
  must,
  runConformance,
  type Subject,
} from "../src/index.js";
import { reference } from "./reference/reference.js";

const passes = must({ id: "T00-passes", stake: "truth", sentence: "One is one." }, async () => undefined);
const fails = must({ id: "T00-fails", stake: "truth", sentence: "One is two." }, async () => {
  throw new CheckFailure("one is not two");
});
const lacks = must(
  { id: "T00-lacks", stake: "truth", requires: ["outage"], sentence: "Never asked." },
  async () => undefined,
);
const owns = must({ id: "L02-owns", stake: "ownership", sentence: "One holder." }, async () => undefined);

/** The least that a subject can be. */
const bare: Subject = {
  name: "bare",
  open: async () => {
    const { lease, advance } = await reference().open();
    return { lease, advance };
  },
};

async function examined(checks: readonly Check[], options?: ConstructorParameters<typeof Exam>[1]) {
  const exam = new Exam(bare, options, checks);
  for (const check of checks) await exam.examine(check);
  return exam.report();
}

describe("a report", () => {
  test("counts every check once and says why a check did not pass", async () => {
    const report = await examined([passes, fails, lacks], { expectedFailures: {} });
    expect(report.counts).toEqual({ total: 3, passed: 1, failed: 1, expectedFailures: 0, notApplicable: 1 });
    expect(report.results.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ["passed", undefined],
      ["failed", "one is not two"],
      ["not-applicable", "it is needed that the subject can cut its authority off (`outage`)"],
    ]);
    expect(discrepancy(report)).toBeUndefined();
    expect(report.conclusion).toBe("does-not-conform");
  });

  test("does not add up while a check has not been examined", async () => {
    const exam = new Exam(reference(), {}, [passes, owns]);
    await exam.examine(passes);
    const report = exam.report();
    expect(report.conclusion).toBe("does-not-conform");
    expect(discrepancy(report)).toBe("2 checks, but 1 + 0 + 0 + 0 verdicts");
  });

  test("says `conforms` only after full effort", async () => {
    expect((await examined([passes, lacks])).conclusion).toBe("conforms");
    expect((await examined([passes, lacks], { effort: "quick" })).conclusion).toBe("passed-quick");
  });

  test("of a SHOULD that failed still conforms", async () => {
    const report = await examined([passes, { ...fails, level: "SHOULD" }]);
    expect([report.counts.failed, report.conclusion]).toEqual([1, "conforms"]);
  });
});

describe("an expected failure", () => {
  test("is run, and counts as expected when it fails, with its author's reason", async () => {
    const report = await examined([passes, fails], { expectedFailures: { "T00-fails": "arithmetic is hard" } });
    expect(report.counts).toEqual({ total: 2, passed: 1, failed: 0, expectedFailures: 1, notApplicable: 0 });
    expect(report.results[1]?.reason).toBe("arithmetic is hard");
    expect(report.conclusion).toBe("does-not-conform");
  });

  test.each([
    ["passes", "T00-passes"],
    ["is not applicable", "T00-lacks"],
  ])("fails when its check %s: the entry is stale", async (_how, id) => {
    const report = await examined([passes, lacks], { expectedFailures: { [id]: "once broken" } });
    expect(report.counts).toMatchObject({ failed: 1, expectedFailures: 0 });
    expect(report.results.find((result) => result.id === id)?.reason).toContain("once broken");
  });

  test.each([
    ["is not one of the exam", { "T00-unknown": "x" }, /no check is named "T00-unknown"/],
    ["is about ownership", { "L02-owns": "x" }, /about ownership/],
    ["has no reason", { "T00-fails": " " }, /must be said/],
  ])("is refused when it %s", (_why, expectedFailures, message) => {
    expect(() => new Exam(reference(), { expectedFailures }, [passes, fails, owns])).toThrow(message);
  });
});

test("there is one edition", () => {
  expect(() => new Exam(reference(), { edition: "2" as "1" })).toThrow(/no edition "2"/);
});

test("a subject that cannot be opened, or closed, fails the check and not the exam", async () => {
  const subject = { name: "broken", open: () => Promise.reject(new Error("no such place")) };
  const { counts, results } = await runConformance(subject);
  expect(counts).toMatchObject({ total: CHECKS.length, failed: CHECKS.length });
  expect(results[0]?.reason).toBe("no such place");

  const exam = new Exam({
    ...reference(),
    open: async () => {
      const opened = await reference().open();
      return { ...opened, close: () => Promise.reject(new Error("cannot be removed")) };
    },
  });
  expect(await exam.examine(passes)).toMatchObject({ verdict: "failed", reason: "cannot be removed" });
});

test("what a check saw is not hidden by what closing its subject throws", async () => {
  const opened = await reference().open();
  const subject = { name: "broken", open: () => ({ ...opened, close: () => Promise.reject(new Error("and this")) }) };
  expect(await new Exam(subject, {}, [fails]).examine(fails)).toMatchObject({ reason: "one is not two" });
});

test("checksFor runs under any runner: a failure rejects, anything else resolves to its result", async () => {
  const sound = await reference().open();
  const list = checksFor("broken", () => ({ ...sound, lease: undefined as never }));
  expect(list.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
  await expect(list[0]?.run()).rejects.toThrow(/^S01-isolation \(Two subjects/);
  const [first] = checksFor(reference());
  await expect(first?.run()).resolves.toMatchObject({ id: "S01-isolation", verdict: "passed" });
});

describe("the checks of edition 1", () => {
  test("have ids and sentences of their own", () => {
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
    expect(new Set(CHECKS.map(({ sentence }) => sentence)).size).toBe(CHECKS.length);
  });

  test("begin with the factory", () => {
    expect(CHECKS[0]?.id).toBe("S01-isolation");
  });

  test("cover every case of the contract's first section", () => {
    const cases = new Set(CHECKS.map(({ id }) => Number(/^L(\d\d)-/.exec(id)?.[1] ?? 0)));
    expect([...cases].sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, number) => number));
  });
});
