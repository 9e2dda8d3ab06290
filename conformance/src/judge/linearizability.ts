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
 * - A fault of the authority takes its turn as a call does.
 * - Time: the instant at which a call is judged lies in its own span of the authority's clock (`authority-time.ts`), and is
 *   exact for a grant. The order of applying is not asked to be the order of instants where calls overlap, because a store
 *   with compare-and-set reads the clock before it commits.
 * - Kept small: hypotheses with the same record of which one has spent fewer unknown calls make the other superfluous; an unknown
 *   call is applied only where it changes something; one that every hypothesis has spent is forgotten.
 *
 * After a violation the search goes on from what the answer itself says, so that one report has all of them.
 */

import type { Instant } from "./authority-time.js";
import { Hypotheses, type Hypothesis } from "./hypotheses.js";
import { describeRecord, NONE } from "./possible-record.js";
import type { Violation } from "./rules.js";
import type { Step } from "./step.js";

/** Hypotheses looked at for one answer, beyond which the session is given up as undecided. */
const MOST_HYPOTHESES = 100_000;

export type Undecided = Readonly<{ session: string; reason: string }>;

/** The search for one session. `run` once, then read `violations` and `undecided`. */
export class SessionSearch {
  readonly #session: string;
  readonly #steps: readonly Step[];
  readonly #open = new Map<number, Step>();
  #hypotheses: readonly Hypothesis[] = [{ possible: NONE, applied: [] }];
  readonly violations: Violation[] = [];
  undecided: Undecided | undefined;

  constructor(session: string, steps: readonly Step[]) {
    this.#session = session;
    this.#steps = steps;
  }

  run(): void {
    const marks = this.#steps.flatMap((step) => [
      { order: step.begin, step, ends: false },
      ...(Number.isFinite(step.end) ? [{ order: step.end, step, ends: true }] : []),
    ]);
    marks.sort((a, b) => a.order - b.order || Number(a.ends) - Number(b.ends));
    for (const { step, ends } of marks) {
      if (!ends || step.ended === undefined) this.#open.set(step.id, step);
      else if (!this.#end(step, step.ended)) return;
    }
  }

  /** False when the search had to be given up. */
  #end(step: Step, ended: Instant): boolean {
    const kept = new Hypotheses(this.#open);
    const seen = new Hypotheses(this.#open);
    let frontier: Hypothesis[] = [];
    for (const hypothesis of this.#hypotheses) {
      if (hypothesis.applied.includes(step.id))
        kept.add({ ...hypothesis, applied: without(hypothesis.applied, step.id) });
      else if (seen.add(hypothesis)) frontier.push(hypothesis);
    }
    while (frontier.length > 0) {
      const further: Hypothesis[] = [];
      for (const hypothesis of frontier) {
        for (const open of this.#open.values()) {
          if (hypothesis.applied.includes(open.id)) continue;
          for (const possible of open.apply(hypothesis.possible, ended)) {
            if (open === step) kept.add({ possible, applied: hypothesis.applied });
            else {
              const next = { possible, applied: withOne(hypothesis.applied, open.id) };
              if (seen.add(next)) further.push(next);
            }
          }
        }
      }
      if (seen.size + kept.size > MOST_HYPOTHESES) return this.#giveUp(step);
      frontier = further;
    }
    this.#open.delete(step.id);
    if (kept.size === 0) this.#convict(step);
    else this.#hypotheses = this.#forgetSpent(kept.all());
    return true;
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
      reason: `more than ${MOST_HYPOTHESES} possibilities when ${step.describe()}`,
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

const without = (ids: readonly number[], id: number): readonly number[] => ids.filter((each) => each !== id);
const withOne = (ids: readonly number[], id: number): readonly number[] => [...ids, id].sort((a, b) => a - b);
