/**
 * A check: one sentence about leases, and the steps that find out whether it is true of a subject.
 *
 * Checks are data, so that a report can name every one, run or not, and so that they can be examined themselves: each
 * begins with a fresh lease, is deterministic on a fake clock, and blames one thing.
 */

import type { Capability } from "@leasehold/session-lease";
import type { Bench } from "./bench.js";
import type { Part } from "./subject.js";

/** MUST: a lease that fails it is broken. SHOULD: it is worse than it could be, and `conforms` does not depend on it. */
export type Level = "MUST" | "SHOULD";

/**
 * What is at stake: one holder, and only the holder acts (`ownership`); tokens grow and stay exact (`fencing`); what is told
 * is so (`truth`); an optional power does its work (`power`); manners towards callers and host (`conduct`); the subject is
 * what it says (`subject`). Nobody may expect a check of ownership, fencing or the subject to fail.
 */
export type Stake = "ownership" | "fencing" | "truth" | "power" | "conduct" | "subject";

export interface Check {
  /** Stable: case number of the contract and a name. "L07-renew-after-takeover". */
  readonly id: string;
  readonly level: Level;
  readonly stake: Stake;
  /** What is true of a lease that passes. */
  readonly sentence: string;
  /** Without these the check is not applicable. */
  readonly needs?: readonly Capability[];
  readonly requires?: readonly Part[];
  /** Throws when the sentence is not true, with what was seen. */
  body(bench: Bench): Promise<void>;
}

/** The case of the contract's section 1 that a check belongs to: 7 for "L07-renew-after-takeover"; 0 for checks of the subject and its promises. */
export function caseOf({ id }: Pick<Check, "id">): number {
  return Number(/^L(\d\d)-/.exec(id)?.[1] ?? 0);
}

type Definition = Omit<Check, "level" | "body">;

/** A MUST. */
export const must = (definition: Definition, body: Check["body"]): Check => ({ ...definition, level: "MUST", body });
/** A SHOULD. */
export const should = (definition: Definition, body: Check["body"]): Check => ({
  ...definition,
  level: "SHOULD",
  body,
});
