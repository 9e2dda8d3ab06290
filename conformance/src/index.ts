export { Bench, type Effort } from "./bench.js";
export { type Check, caseOf, type Level, must, type Stake, should } from "./check.js";
export { CHECKS } from "./checks.js";
export { Exam, type ExamOptions } from "./exam.js";
export { CheckFailure } from "./expectation.js";
export { FakeClock, type FakeClockOptions } from "./fake-clock.js";
export { FIELD_FAILURES, type FieldFailure } from "./field-failures.js";
export { type Disagreement, type Playable, playSequence, playTransitions } from "./play.js";
export { toJson, toMarkdown, toSummary, toText } from "./print.js";
export { type Counts, discrepancy, type Report, type Result, reportOf, type Verdict } from "./report.js";
export { checksFor, type RunnableCheck, runConformance } from "./run-conformance.js";
export {
  type Elsewhere,
  EXAM_TTL,
  type Opened,
  type Oracle,
  PART_MEANING,
  type Part,
  REAL_EXAM_TTL,
  type Subject,
} from "./subject.js";
export { transitionLease } from "./transition-lease.js";
export {
  type GrantVector,
  type InspectVector,
  type Sequence,
  type Step,
  type TokenVector,
  transitionVectors,
} from "./vectors.js";
