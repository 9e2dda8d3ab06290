import { type Command, type LeaseRecord, transition } from "@leasehold/session-lease";
import type { Decision, Decisions } from "../reference/driver.js";
import type { Mutation } from "../reference/reference.js";

/** A lease that is wrong in one decision. */
export type Mutant = Readonly<{
  name: string;
  /** What it does, where the reference does right. */
  sentence: string;
  build: Mutation;
  /** Ids of the checks that it fails, all of them, in the order of the exam. */
  fails: readonly string[];
}>;

type Step = Decisions["step"];
type Op = Command["op"];
type Of<O extends Op> = Extract<Command, { op: O }>;

/** `transition` for every command but this one. */
export function deciding<O extends Op>(
  op: O,
  decide: (record: LeaseRecord | undefined, command: Of<O>, now: number) => Decision,
): Step {
  return (record, command, now) =>
    isOf(command, op) ? decide(record, command, now) : transition(record, command, now);
}

/** `transition`, taking the record for another one. */
export function seeing(see: (record: LeaseRecord, command: Command, now: number) => LeaseRecord): Step {
  return (record, command, now) => transition(record && see(record, command, now), command, now);
}

/** `transition`, taking the command for another one. */
export function asking<O extends Op>(op: O, ask: (command: Of<O>, record: LeaseRecord | undefined) => Command): Step {
  return (record, command, now) => transition(record, isOf(command, op) ? ask(command, record) : command, now);
}

/** `transition`, storing (and telling) another record than it says. */
export function storing<O extends Op>(
  op: O,
  change: (
    next: LeaseRecord,
    context: Readonly<{ record: LeaseRecord | undefined; command: Of<O>; now: number }>,
  ) => LeaseRecord,
): Step {
  return (record, command, now) => {
    const { outcome, next } = transition(record, command, now);
    if (!isOf(command, op) || next === undefined) return { outcome, next };
    const changed = change(next, { record, command, now });
    return { outcome: outcome.kind === "granted" ? { kind: "granted", record: changed } : outcome, next: changed };
  };
}

function isOf<O extends Op>(command: Command, op: O): command is Of<O> {
  return command.op === op;
}

/** The takeovers among acquires: whatever stood there before is over. */
export function isTakeover(record: LeaseRecord | undefined, now: number): boolean {
  return record === undefined || record.standing !== "held" || now >= record.expiry;
}
