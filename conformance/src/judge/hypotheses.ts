import { keyOf, type PossibleRecord } from "./possible-record.js";

/** What may be kept at the authority, and which of the open steps have been applied to it, by id and in order. */
export type Hypothesis = Readonly<{ possible: PossibleRecord; applied: readonly number[] }>;

/**
 * A set without the superfluous: of two hypotheses with the same record and the same certain steps, one that has spent
 * fewer of the unknown ones can explain whatever the other can.
 */
export class Hypotheses {
  readonly #open: ReadonlyMap<number, Readonly<{ end: number }>>;
  readonly #groups = new Map<string, { hypothesis: Hypothesis; spent: readonly number[] }[]>();
  size = 0;

  /** `open`: the steps that `applied` may name; those that never end are unknown ones. */
  constructor(open: ReadonlyMap<number, Readonly<{ end: number }>>) {
    this.#open = open;
  }

  /** False if it was superfluous. */
  add(hypothesis: Hypothesis): boolean {
    const spent: number[] = [];
    const certain: number[] = [];
    for (const id of hypothesis.applied)
      (this.#open.get(id)?.end === Number.POSITIVE_INFINITY ? spent : certain).push(id);
    const key = `${keyOf(hypothesis.possible)} ${certain.join()}`;
    const group = this.#groups.get(key) ?? [];
    if (group.some((other) => other.spent.every((id) => spent.includes(id)))) return false;
    this.#groups.set(key, [...group, { hypothesis, spent }]);
    this.size += 1;
    return true;
  }

  all(): readonly Hypothesis[] {
    return [...this.#groups.values()].flatMap((group) => group.map(({ hypothesis }) => hypothesis));
  }
}
