/**
 * What the store let in, and what became of it.
 *
 * The fence, as far as calls show it: once a call with some token was accepted and answered, no call that is made after
 * that answer may be accepted with a lower one. Acknowledged entries must be in the final log. A fault of the store itself
 * (`of: "store"`) excuses what was accepted before it; an erased log excuses what was acknowledged before.
 */

import type { FaultEvent, LogEvent } from "./event.js";
import { bySession, type Call, type History, type Lasting, type Ordered, sourcesOf } from "./history.js";
import type { Violation } from "./rules.js";

export function judgeWrites(history: History): Violation[] {
  const logs = new Map(history.logs.map((log) => [log.session, log]));
  const faults = history.faults.filter(({ of }) => of === "store");
  const violations: Violation[] = [];
  for (const [session, writes] of bySession(history.writes)) {
    const own = faults.filter((fault) => (fault.session ?? session) === session);
    violations.push(...judgeFence(session, writes, own));
    const log = logs.get(session);
    if (log !== undefined) violations.push(...judgeAcknowledged(log, writes, own));
  }
  return [...violations, ...[...logs.values()].flatMap(judgeLog)];
}

/** Sessions with acknowledged entries whose log nobody read at the end: whether something was lost cannot be said. */
export function unreadSessions({ writes, logs }: History): string[] {
  const read = new Set(logs.map(({ session }) => session));
  const written = writes.filter(isAcknowledgedEntry).map(({ invoke }) => invoke.session);
  return [...new Set(written)].filter((session) => !read.has(session));
}

const isAccepted = ({ answer }: Call): boolean => answer.answer === "accepted";
const isAcknowledgedEntry = (call: Call): boolean => call.invoke.op === "append" && isAccepted(call);

function judgeFence(session: string, writes: readonly Call[], faults: readonly Lasting<FaultEvent>[]): Violation[] {
  const accepted = writes.filter(isAccepted);
  const byEnd = [...accepted].sort((a, b) => a.end - b.end);
  /** The fence since each fault, by how many faults came before. */
  const fences = new Map<number, Call>();
  const violations: Violation[] = [];
  let next = 0;
  for (const write of accepted) {
    for (let raised = byEnd[next]; raised !== undefined && raised.end < write.invoke.order; raised = byEnd[next]) {
      const { order } = raised.invoke;
      const era = faults.filter((fault) => fault.order < order).length;
      const fence = fences.get(era);
      if (fence === undefined || tokenOf(raised) > tokenOf(fence)) fences.set(era, raised);
      next += 1;
    }
    const fence = fences.get(faults.filter((fault) => fault.began < write.end).length);
    if (fence === undefined || tokenOf(write) >= tokenOf(fence)) continue;
    violations.push({
      rule: "stale-write",
      session,
      sentence: `${write.invoke.op} under token ${tokenOf(write)} was accepted although ${fence.invoke.op} under ${tokenOf(fence)} had been before it was offered`,
      evidence: [...sourcesOf(fence), ...sourcesOf(write)],
    });
  }
  return violations;
}

function judgeAcknowledged(
  log: Ordered<LogEvent>,
  writes: readonly Call[],
  faults: readonly Lasting<FaultEvent>[],
): Violation[] {
  const erased = writes.filter(
    ({ invoke, answer }) => invoke.op === "erase" && ["accepted", "unknown"].includes(answer.answer),
  );
  const violations: Violation[] = [];
  const convict = (write: Call, what: string): void => {
    const sentence = `the entry that ${write.invoke.process} was told is kept (${write.invoke.write ?? write.invoke.call}) ${what}`;
    const evidence = [...sourcesOf(write), log.source];
    violations.push({ rule: "lost-write", session: log.session, sentence, evidence });
  };
  const placesOf = finder(log);
  const placed: { write: Call; place: number }[] = [];
  for (const write of writes.filter(isAcknowledgedEntry)) {
    const { order } = write.invoke;
    if (write.end > log.order || faults.some((fault) => fault.order > order) || erased.some(({ end }) => end > order))
      continue;
    const places = placesOf(write);
    const [place] = places;
    const entry = log.entries[place ?? -1];
    const seq = write.answer.answer === "accepted" ? write.answer.seq : undefined;
    if (place === undefined || entry === undefined) convict(write, "is not in the log");
    else if (entry.token !== write.invoke.token) convict(write, `is in the log under token ${entry.token}`);
    else if (seq !== undefined && entry.seq !== seq) convict(write, `is in the log as ${entry.seq}, not ${seq}`);
    else if (places.length > 1) convict(write, `is in the log ${places.length} times`);
    else placed.push({ write, place });
  }
  const byEnd = [...placed].sort((a, b) => a.write.end - b.write.end);
  let next = 0;
  let last = -1;
  for (const { write, place } of placed) {
    for (
      let before = byEnd[next];
      before !== undefined && before.write.end < write.invoke.order;
      before = byEnd[next]
    ) {
      last = Math.max(last, before.place);
      next += 1;
    }
    if (place < last) convict(write, "stands before one that was acknowledged earlier");
  }
  return violations;
}

/** Finds the places of an entry in the log: by its mark if the log shows marks, otherwise where it was acknowledged. */
function finder({ entries }: LogEvent): (write: Call) => readonly number[] {
  const places = new Map<string | number, number[]>();
  for (const [place, { seq, write }] of entries.entries()) {
    const key = write ?? seq;
    places.set(key, [...(places.get(key) ?? []), place]);
  }
  return ({ invoke, answer }) => {
    const seq = answer.answer === "accepted" ? answer.seq : undefined;
    const marked = invoke.write === undefined ? undefined : places.get(invoke.write);
    return marked ?? (seq === undefined ? undefined : places.get(seq)) ?? [];
  };
}

function judgeLog({ session, entries, source }: LogEvent): Violation[] {
  const violations: Violation[] = [];
  for (const [index, entry] of entries.entries()) {
    const before = entries[index - 1];
    if (before === undefined) continue;
    if (entry.seq !== before.seq + 1) {
      const sentence = `after entry ${before.seq} comes ${entry.seq}`;
      violations.push({ rule: "log-gap", session, sentence, evidence: [source] });
    }
    if (entry.token < before.token) {
      const sentence = `entry ${entry.seq} has token ${entry.token}, the one before it ${before.token}`;
      violations.push({ rule: "log-token-falls", session, sentence, evidence: [source] });
    }
  }
  return violations;
}

const tokenOf = ({ invoke }: Call): bigint => invoke.token ?? 0n;
