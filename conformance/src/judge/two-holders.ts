/**
 * Never two valid holders, with the one exception.
 *
 * Two beliefs of different holds of a session may not overlap. They may only if the record was destroyed or freed over
 * a holder's head: then that holder, who had asked for its hold before, cannot know. It may believe until its next renewal is
 * answered, and never longer than its ttl after the event. What it writes meanwhile is the business of `stale-write`.
 * That is asked of every instant: one holder may be excused until it is answered, and the other from there on, by another event.
 *
 * Over the head: a force-release that was done or may have been, a record deleted, restored from a copy or corrupted, and a
 * step forward of the authority's clock. Nothing else, and above all no kill, stop or loss of messages.
 */

import { type Belief, beliefsOf } from "./beliefs.js";
import type { Source } from "./event.js";
import { bySession, type Call, type History } from "./history.js";
import type { Violation } from "./rules.js";

/** Something that the old holder could not know. Instants in ms on the recorder's clock. */
type Blow = Readonly<{
  session: string | undefined;
  from: number;
  /** Infinity where it is not known when, or whether, it came: then the successor shows that it had come. */
  to: number;
  order: number;
  source: Source;
}>;

export function judgeHolders(history: History): Violation[] {
  const blows = blowsOf(history);
  const asked = bySession(history.calls);
  const violations: Violation[] = [];
  for (const [session, beliefs] of beliefsOf(history)) {
    const calls = asked.get(session) ?? [];
    const own = blows.filter((blow) => (blow.session ?? session) === session);
    const reported = new Set<string>();
    for (const [a, b] of overlaps(beliefs)) {
      const pair = [a, b].map(({ owner, token }) => `${token} ${owner}`).join();
      if (reported.has(pair) || isExcused([a, b], own, calls)) continue;
      reported.add(pair);
      const { from, to } = overlap(a, b);
      violations.push({
        rule: "two-holders",
        session,
        sentence: `${name(a)} and ${name(b)} both believed themselves valid from ${from} to ${to}`,
        evidence: [...a.evidence, ...b.evidence],
      });
    }
  }
  return violations;
}

const name = ({ owner, token }: Belief): string => `${owner} (token ${token})`;
const overlap = (a: Belief, b: Belief): { from: number; to: number } => ({
  from: Math.max(a.from, b.from),
  to: Math.min(a.to, b.to),
});

function* overlaps(beliefs: readonly Belief[]): Iterable<readonly [Belief, Belief]> {
  let active: Belief[] = [];
  for (const belief of [...beliefs].sort((a, b) => a.from - b.from)) {
    active = active.filter(({ to }) => to > belief.from);
    for (const other of active) {
      if (other.owner !== belief.owner || other.token !== belief.token) yield [other, belief];
    }
    active.push(belief);
  }
}

/** At every instant that the two share, one of them cannot know of a blow. */
function isExcused(pair: readonly [Belief, Belief], blows: readonly Blow[], calls: readonly Call[]): boolean {
  const { from, to } = overlap(...pair);
  const excuses = pair.flatMap((old) => blows.map((blow) => excuse(old, blow, from, calls)));
  let excused = from;
  for (const each of excuses.sort((a, b) => a.from - b.from)) {
    if (each.from <= excused) excused = Math.max(excused, each.to);
  }
  return to <= excused;
}

/**
 * For how long `old` cannot know of a blow: its hold had been asked for before, even if the answer came later. `shared` is
 * when the beliefs of two began to overlap, which shows a blow that had come by then.
 */
function excuse(
  old: Belief,
  blow: Blow,
  shared: number,
  calls: readonly Call[],
): Readonly<{ from: number; to: number }> {
  const { from } = blow;
  const struck = shared < from ? blow.to : Math.min(blow.to, shared);
  // Nothing shows that it came.
  if (!Number.isFinite(struck)) return { from, to: from };
  return { from, to: Math.min(struck + ttlBefore(old, blow, calls), nextAnswer(old, struck, calls)) };
}

/** The ttl of the last grant to this hold that was asked for before the blow: the longest for which it could go on. Zero if there is none. */
function ttlBefore({ owner, token }: Belief, { order }: Blow, calls: readonly Call[]): number {
  let ttl = 0;
  for (const { invoke, answer } of calls) {
    if (answer.answer === "granted" && answer.token === token && invoke.owner === owner && invoke.order < order) {
      ttl = answer.ttl;
    }
  }
  return ttl;
}

/** When the first renewal that its process asked for after the blow was answered. What others were told, it has not heard. */
function nextAnswer({ process, owner, token }: Belief, struck: number, calls: readonly Call[]): number {
  const renewal = calls.find(
    ({ invoke, answer }) =>
      invoke.op === "renew" &&
      invoke.process === process &&
      invoke.owner === owner &&
      (invoke.token ?? token) === token &&
      invoke.at > struck &&
      (answer.answer === "granted" || answer.answer === "refused"),
  );
  return renewal?.returned?.at ?? Number.POSITIVE_INFINITY;
}

function blowsOf({ faults, calls }: History): Blow[] {
  const struck = faults
    .filter(({ of, fault, by = 0 }) => of === "authority" && (fault !== "step" || by > 0))
    .map(({ session, at, since = at, order, source }): Blow => ({ session, from: since, to: at, order, source }));
  const forced = calls
    .filter(({ invoke, answer }) => invoke.op === "forceRelease" && ["done", "unknown"].includes(answer.answer))
    .map(({ invoke, returned, end }): Blow => {
      const to = Number.isFinite(end) ? (returned?.at ?? invoke.at) : Number.POSITIVE_INFINITY;
      return { session: invoke.session, from: invoke.at, to, order: end, source: invoke.source };
    });
  return [...struck, ...forced];
}
