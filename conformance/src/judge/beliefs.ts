/** What holders believed of themselves, as stretches of the recorder's time. */

import type { Source } from "./event.js";
import type { History } from "./history.js";

/** A stretch of time through which one holder believed itself valid. */
export type Belief = Readonly<{
  process: string;
  session: string;
  owner: string;
  token: bigint;
  /** Ms on the recorder's clock; `to` is the first instant at which it no longer believes. */
  from: number;
  to: number;
  /** Order in the history of what began it. */
  order: number;
  evidence: readonly Source[];
}>;

type Open = { -readonly [K in keyof Belief]: Belief[K] };

/** All beliefs, by session. A later `believe` of the same hold replaces the end of the one before; a kill ends all of its process. */
export function beliefsOf({ believes, ceases, kills }: History): ReadonlyMap<string, readonly Belief[]> {
  const beliefs: Open[] = [];
  const last = new Map<string, Open>();
  for (const event of [...believes, ...ceases, ...kills].sort(inOrder)) {
    if (event.event === "kill") {
      const { process, at, since = at } = event;
      for (const belief of last.values()) if (belief.process === process) belief.to = Math.min(belief.to, since);
      continue;
    }
    const { process, session, owner, token, at, order, source } = event;
    const hold = JSON.stringify([process, session, owner, `${token}`]);
    const belief = last.get(hold);
    if (event.event === "cease") {
      if (belief !== undefined) belief.to = Math.min(belief.to, at);
    } else if (belief !== undefined && at <= belief.to) {
      belief.to = event.until;
      belief.evidence = [...belief.evidence.slice(0, 1), source];
    } else {
      const begun = { process, session, owner, token, from: at, to: event.until, order, evidence: [source] };
      last.set(hold, begun);
      beliefs.push(begun);
    }
  }
  return bySession(beliefs);
}

const inOrder = (a: Readonly<{ order: number }>, b: Readonly<{ order: number }>): number => a.order - b.order;

function bySession(beliefs: readonly Open[]): ReadonlyMap<string, readonly Belief[]> {
  const grouped = new Map<string, Belief[]>();
  for (const belief of beliefs) {
    if (belief.from >= belief.to) continue;
    const of = grouped.get(belief.session);
    if (of === undefined) grouped.set(belief.session, [belief]);
    else of.push(belief);
  }
  return grouped;
}
