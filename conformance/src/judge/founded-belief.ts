/**
 * A belief needs a ground: a grant or a renewal that this owner asked for itself, answered before it began to believe, and
 * an end no later than the ttl from before that was asked. The margin of a hundredth is not asked for here: it is what
 * a holder keeps for the drift between its own clock and others, the recorder's among them.
 */

import type { BelieveEvent } from "./event.js";
import { type Call, type History, type Ordered, sourcesOf } from "./history.js";
import type { Violation } from "./rules.js";

export function judgeFoundation({ believes, calls }: History): Violation[] {
  const grants = new Map<string, Call[]>();
  for (const call of calls) {
    const { invoke, answer } = call;
    if (answer.answer !== "granted" || invoke.op === "transfer") continue;
    const key = keyOf(invoke.session, invoke.owner ?? "", answer.token);
    const of = grants.get(key);
    if (of === undefined) grants.set(key, [call]);
    else of.push(call);
  }
  return believes.flatMap((belief) => {
    const own = grants.get(keyOf(belief.session, belief.owner, belief.token)) ?? [];
    const answered = own.filter(({ end }) => end < belief.order);
    const latest = Math.max(...answered.map(endOf));
    return belief.until <= latest ? [] : [unfounded(belief, answered, latest)];
  });
}

const keyOf = (session: string, owner: string, token: bigint): string => JSON.stringify([session, owner, `${token}`]);
const endOf = ({ invoke, answer }: Call): number => (answer.answer === "granted" ? invoke.at + answer.ttl : 0);

function unfounded(belief: Ordered<BelieveEvent>, grants: readonly Call[], latest: number): Violation {
  const { session, owner, token, at, until, source } = belief;
  const ground =
    grants.length === 0 ? "no grant under this token had reached it" : `its grants allow at most ${latest}`;
  return {
    rule: "unfounded-belief",
    session,
    sentence: `at ${at}, ${owner} believed itself valid under token ${token} until ${until}, but ${ground}`,
    evidence: [...grants.slice(-1).flatMap(sourcesOf), source],
  };
}
