/**
 * Tokens strictly increase over the holds of a session, in real time: the hold that was asked for after another one had
 * been granted has the higher token, whatever happened to the record in between. Renewals are no new holds.
 *
 * One thing cannot be promised, and is not asked for: when the record is lost and the clock then stands at or before the
 * last token, nothing is left to tell what that was. A record is lost by a fault, or forgotten and the clock then stepped
 * back by `forgetAfter` or more.
 *
 * A hold begins where its owner first asked in a way that may have led to it: an acquire whose outcome stayed unknown may
 * be the one that a later, answered acquire of the same owner only confirms.
 */

import type { FaultEvent, Source } from "./event.js";
import { bySession, type Call, type History, type Lasting, sourcesOf } from "./history.js";
import type { Violation } from "./rules.js";

type Hold = Readonly<{
  owner: string;
  token: bigint;
  /** Order of the first ask that may have led to it, and of the first answer that told of it. */
  asked: number;
  told: number;
  /** Epoch ms on the authority's clock. */
  granted: number;
  sources: readonly Source[];
}>;

export function judgeTokens({ calls, faults, forgetAfter }: History): Violation[] {
  const losses = faults.filter(
    ({ of, fault, by = 0 }) => of === "authority" && (fault !== "step" || by <= -forgetAfter),
  );
  return [...bySession(calls)].flatMap(([session, own]) => judgeSession(session, holdsOf(own), losses));
}

function judgeSession(session: string, holds: readonly Hold[], losses: readonly Lasting<FaultEvent>[]): Violation[] {
  const violations: Violation[] = [];
  const byAnswer = [...holds].sort((a, b) => a.told - b.told);
  let next = 0;
  let highest: Hold | undefined;
  for (const hold of [...holds].sort((a, b) => a.asked - b.asked)) {
    for (let told = byAnswer[next]; told !== undefined && told.told < hold.asked; told = byAnswer[next]) {
      if (highest === undefined || told.token > highest.token) highest = told;
      next += 1;
    }
    if (highest === undefined || hold.token > highest.token) continue;
    const before = highest;
    if (BigInt(hold.granted) <= before.token && losses.some((loss) => isBetween(loss, before, hold, session))) continue;
    violations.push({
      rule: "token-order",
      session,
      sentence: `${hold.owner} was granted token ${hold.token} after ${highest.owner} had been granted ${highest.token}`,
      evidence: [...highest.sources, ...hold.sources],
    });
  }
  return violations;
}

function isBetween(loss: Lasting<FaultEvent>, before: Hold, after: Hold, session: string): boolean {
  if ((loss.session ?? session) !== session) return false;
  return loss.order > before.asked && loss.began < after.told;
}

function holdsOf(calls: readonly Call[]): Hold[] {
  const holds = new Map<string, Hold>();
  const unsure = new Map<string, number>();
  for (const call of calls) {
    const { invoke, answer, end } = call;
    if (invoke.op !== "acquire" && invoke.op !== "transfer") continue;
    const owner = invoke.newOwner ?? invoke.owner ?? "";
    if (answer.answer === "unknown") unsure.set(owner, Math.min(unsure.get(owner) ?? invoke.order, invoke.order));
    if (answer.answer !== "granted") continue;
    const key = `${answer.token} ${owner}`;
    const known = holds.get(key);
    if (known === undefined) {
      const asked = Math.min(invoke.order, unsure.get(owner) ?? invoke.order);
      holds.set(key, {
        owner,
        token: answer.token,
        asked,
        told: end,
        granted: answer.expiry - answer.ttl,
        sources: sourcesOf(call),
      });
    } else if (end < known.told) {
      holds.set(key, { ...known, told: end });
    }
  }
  return [...holds.values()];
}
