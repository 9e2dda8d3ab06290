/**
 * Is there an order of the calls of a session, each within its own time, that explains every answer by `transition`?
 *
 * Sessions are independent, so each is searched alone (as Porcupine and Knossos do by key). The search is Lowe's just-in-time
 * linearization: it walks over the beginnings and ends of calls in the order of the history and keeps every *hypothesis* that is
 * still possible: what may be kept at the authority and which of the open calls have been applied. When a call ends,
 * each hypothesis in which it has not been applied is led through every sequence of open calls that ends with it; those
 * in which it cannot be applied are dropped. When none is left, this end is the first answer that no order explains, and
 * the last hypotheses say what would have been explained instead.
 *
 * - A call whose outcome is unknown never ends: it may be applied at any later time, or never. An acquire of unknown outcome
 *   brings an owner-conditional release that may follow it, because whoever gives up an acquire takes it back.
 * - Where the history says that the adapter `retries`, an acquire, a renewal or a release request may have been applied before
 *   the application that was answered: the reply was lost inside of the call, and it was decided anew. Any number of times
 *   on top of one another; with another hold or the end of its own in between, twice.
 * - Where the history is `local`, an unknown call is settled where its process ended: every hypothesis goes on both with it
 *   and without.
 * - A fault of the authority takes its turn as a call does.
 * - Time: the instant at which a call is judged lies in its own span of the authority's clock (`authority-time.ts`), and is
 *   exact for a grant. The order of applying is not asked to be the order of instants where calls overlap, because a store
 *   with compare-and-set reads the clock before it commits.
 * - Kept small: of hypotheses with the same record, one that has spent fewer unknown calls makes the other superfluous; an
 *   unknown call is applied only where it changes something; one that every hypothesis has spent is forgotten; and a call
 *   that was answered without changing anything goes first, since whatever could come before it can as well come after. Not so
 *   a fault or a force-release, which undoes what came before it even where nothing was known to be kept.
 * - Thrift: the first search spends the fewest unknown calls that explain an answer, and on a grant none that left what
 *   nobody saw. An order that it finds is an order;
 *   when it finds none, the search is repeated with all possibilities. Only that one convicts.
 *
 * After a violation the search goes on from what the answer itself says, so that one report has all of them.
 */

import type { Instant } from "./authority-time.js";
import { Hypotheses, type Hypothesis } from "./hypotheses.js";
import { describeRecord, keyOf, NONE, type PossibleRecord } from "./possible-record.js";
import type { Violation } from "./rules.js";
import type { Step } from "./step.js";

/** Hypotheses that the thrifty search carries on from one answer to the next. */
const MOST_WHEN_THRIFTY = 64;

export type Undecided = Readonly<{ session: string; reason: string }>;

/** Searches one session: thriftily, and once more without thrift unless that has found an order. */
export function searchSession(session: string, steps: readonly Step[], possibilities: number): SessionFinding {
  const thrifty = new SessionSearch(session, steps, possibilities, true);
  thrifty.run();
  if (thrifty.violations.length === 0 && thrifty.undecided === undefined) return thrifty;
  const complete = new SessionSearch(session, steps, possibilities, false);
  complete.run();
  const { violations, undecided } = complete;
  const [doubt] = thrifty.violations;
  if (undecided === undefined || doubt === undefined) return complete;
  return { violations, undecided: { session, reason: `${undecided.reason}. In doubt: ${doubt.sentence}` } };
}

export type SessionFinding = Readonly<{ violations: readonly Violation[]; undecided: Undecided | undefined }>;

class SessionSearch {
  readonly #session: string;
  readonly #steps: readonly Step[];
  /** Hypotheses looked at for one answer, beyond which the session is given up as undecided. */
  readonly #possibilities: number;
  /** Spends no more unknown calls on a step than the fewest that explain it. */
  readonly #thrifty: boolean;
  readonly #open = new Map<number, Step>();
  #hypotheses: readonly Hypothesis[] = [{ possible: NONE, applied: [] }];
  readonly violations: Violation[] = [];
  undecided: Undecided | undefined;

  constructor(session: string, steps: readonly Step[], possibilities: number, thrifty: boolean) {
    this.#session = session;
    this.#steps = steps;
    this.#possibilities = possibilities;
    this.#thrifty = thrifty;
  }

  run(): void {
    const marks = this.#steps.flatMap((step) => [
      { order: step.begin, step, ends: false },
      ...[step.end, step.lapses].filter(Number.isFinite).map((order) => ({ order, step, ends: true })),
    ]);
    marks.sort((a, b) => a.order - b.order || Number(a.ends) - Number(b.ends));
    for (const { step, ends } of marks) {
      if (!ends) this.#open.set(step.id, step);
      else if (step.lapsed !== undefined && !this.#lapse(step, step.lapsed)) return;
      else if (step.ended === undefined) this.#close(step);
      else if (!this.#end(step, step.ended)) return;
    }
  }

  /** From here on it may have been applied, or not. False when the search had to be given up. */
  #lapse(step: Step, lapsed: Instant): boolean {
    const kept = new Hypotheses(this.#open);
    const reached = this.#hypotheses.filter((hypothesis) => kept.add(hypothesis));
    const mayComeFirst = ({ end, lapses }: Step): boolean => Number.isFinite(end) || lapses === step.lapses;
    // Grows while it is walked over: with everything that may have come before.
    for (const hypothesis of reached) {
      reached.push(...this.#apply(hypothesis, mayComeFirst, lapsed).filter((next) => kept.add(next)));
      if (kept.size > this.#possibilities) return this.#giveUp(step);
    }
    this.#hypotheses = this.#likeliest(kept.all(), step);
    return true;
  }

  /** Whether it was applied no longer matters. */
  #close({ id }: Step): void {
    this.#hypotheses = this.#hypotheses.map((each) => ({ ...each, applied: without(each.applied, id) }));
    this.#open.delete(id);
  }

  /** False when the search had to be given up. */
  #end(step: Step, ended: Instant): boolean {
    const kept = new Hypotheses(this.#open);
    const seen = new Hypotheses(this.#open);
    /** By how many unknown calls are spent on this step. */
    let level: Hypothesis[] = [];
    for (const hypothesis of this.#hypotheses) {
      if (hypothesis.applied.includes(step.id))
        kept.add({ ...hypothesis, applied: without(hypothesis.applied, step.id) });
      else if (seen.add(hypothesis)) level.push(hypothesis);
    }
    while (level.length > 0) {
      const unexplained: Hypothesis[] = [];
      // Grows while it is walked over: certain calls cost nothing and stay on the level.
      for (const hypothesis of level) {
        const explained = step.apply(hypothesis.possible, ended);
        for (const possible of explained) kept.add({ possible, applied: hypothesis.applied });
        if (!step.changes && explained.some((possible) => isSame(possible, hypothesis.possible))) continue;
        unexplained.push(hypothesis);
        const others = this.#apply(hypothesis, (open) => open !== step && Number.isFinite(open.end), ended);
        level.push(...others.filter((next) => seen.add(next)));
      }
      if (this.#thrifty && kept.size > 0) break;
      level = [];
      for (const hypothesis of unexplained) {
        const further = this.#apply(hypothesis, ({ end }) => !Number.isFinite(end), ended);
        level.push(...further.filter((next) => this.#mayHelp(step, next) && seen.add(next)));
        if (seen.size + kept.size > this.#possibilities) return this.#giveUp(step);
      }
      level = this.#likeliest(level, step);
    }
    this.#open.delete(step.id);
    if (kept.size === 0) this.#convict(step);
    else this.#hypotheses = this.#forgetSpent(this.#likeliest(kept.all(), step));
    return true;
  }

  /** What may be after one more of the open calls. */
  #apply({ possible, applied }: Hypothesis, isMeant: (open: Step) => boolean, until: Instant): Hypothesis[] {
    const after: Hypothesis[] = [];
    for (const open of this.#open.values()) {
      if (!isMeant(open) || applied.includes(open.id)) continue;
      const spent = open.repeats ? applied : withOne(applied, open.id);
      for (const next of open.apply(possible, until)) after.push({ possible: next, applied: spent });
    }
    return after;
  }

  /** Few suffice for thrift: first those with the hold that the answer names, then with one that somebody saw, then the latest calls. */
  #likeliest(hypotheses: readonly Hypothesis[], { reveals }: Step): Hypothesis[] {
    if (!this.#thrifty || hypotheses.length <= MOST_WHEN_THRIFTY) return [...hypotheses];
    const rank = ({ possible, applied }: Hypothesis): readonly [number, number, number] => {
      const { record, hidden } = possible.kind === "record" ? possible : { record: undefined, hidden: false };
      return [Number(reveals?.previous !== record?.owner), Number(hidden), -(applied.at(-1) ?? 0)];
    };
    const ranked = hypotheses.map((hypothesis) => ({ hypothesis, rank: rank(hypothesis) }));
    ranked.sort(({ rank: a }, { rank: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    return ranked.slice(0, MOST_WHEN_THRIFTY).map(({ hypothesis }) => hypothesis);
  }

  /** A hold that nobody saw is hardly ever what stood before one that names its predecessor. */
  #mayHelp({ reveals }: Step, { possible }: Hypothesis): boolean {
    if (!this.#thrifty || reveals === undefined || possible.kind !== "record") return true;
    return !possible.hidden || possible.record.standing !== "held";
  }

  #convict(step: Step): void {
    const possible = [...new Set(this.#hypotheses.map((hypothesis) => describeRecord(hypothesis.possible)))];
    const shown = possible.slice(0, 3).join("; or ");
    const more = possible.length > 3 ? `; or ${possible.length - 3} more` : "";
    const overlapping = [...this.#open.values()].filter(({ end }) => Number.isFinite(end));
    this.violations.push({
      rule: "not-linearizable",
      session: this.#session,
      sentence: `no order of the calls explains that ${step.describe()}. Kept before it, as far as the answers until then tell: ${shown}${more}`,
      evidence: [...step.sources, ...overlapping.flatMap(({ sources }) => sources)],
    });
    this.#hypotheses = [{ possible: step.assumed, applied: [] }];
  }

  #giveUp(step: Step): false {
    this.undecided = {
      session: this.#session,
      reason: `more than ${this.#possibilities} possibilities when ${step.describe()}`,
    };
    return false;
  }

  /** An unknown call that was applied in every hypothesis is settled. */
  #forgetSpent(hypotheses: readonly Hypothesis[]): readonly Hypothesis[] {
    const [first, ...others] = hypotheses;
    const spent = (first?.applied ?? []).filter(
      (id) =>
        this.#open.get(id)?.end === Number.POSITIVE_INFINITY && others.every(({ applied }) => applied.includes(id)),
    );
    if (spent.length === 0) return hypotheses;
    for (const id of spent) this.#open.delete(id);
    return hypotheses.map((hypothesis) => ({
      ...hypothesis,
      applied: hypothesis.applied.filter((id) => !spent.includes(id)),
    }));
  }
}

const isSame = (a: PossibleRecord, b: PossibleRecord): boolean => a === b || keyOf(a) === keyOf(b);
const without = (ids: readonly number[], id: number): readonly number[] => ids.filter((each) => each !== id);
const withOne = (ids: readonly number[], id: number): readonly number[] => [...ids, id].sort((a, b) => a - b);
