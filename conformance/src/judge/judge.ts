/**
 * The judge: passive, after the fact, and complete. It takes what was recorded, touches nothing, and tells everything that
 * is wrong with it, not only the first thing.
 *
 * What acceptance means: nothing in this history contradicts the rules. It is no proof that none of their breaches happened
 * where nobody looked: beliefs that were not recorded are not judged, nor are logs that nobody read (they are named).
 */

import { AuthorityTime } from "./authority-time.js";
import { judgeFoundation } from "./founded-belief.js";
import { bySession, type History } from "./history.js";
import { searchSession, type Undecided } from "./linearizability.js";
import type { Violation } from "./rules.js";
import { stepsOf } from "./step.js";
import { judgeTokens } from "./token-order.js";
import { judgeHolders } from "./two-holders.js";
import { judgeWrites, unreadSessions } from "./writes.js";

export type HistoryCounts = Readonly<{
  sessions: number;
  processes: number;
  calls: number;
  /** Calls of leases whose outcome nobody learnt. */
  unknown: number;
  grants: number;
  /** Distinct holds that were granted after another hold of their session. */
  takeovers: number;
  renewals: number;
  beliefs: number;
  /** Calls of stores, and the entries acknowledged among them. */
  writes: number;
  acknowledged: number;
  faults: number;
  kills: number;
}>;

export type Judgement = Readonly<{
  title: string | undefined;
  /** No violation, and nothing left undecided. */
  accepted: boolean;
  /** In the order in which their last events stand in the history. */
  violations: readonly Violation[];
  /** Sessions with so many possible orders that the search was given up. Neither accepted nor convicted. */
  undecided: readonly Undecided[];
  /** Sessions with acknowledged entries whose log is not in the history. */
  unread: readonly string[];
  counts: HistoryCounts;
}>;

export interface JudgeOptions {
  /** What may be looked at for one answer before its session is given up as undecided; 20,000 unless given. */
  readonly possibilities?: number | undefined;
}

export function judge(history: History, { possibilities = 20_000 }: JudgeOptions = {}): Judgement {
  const findings = history.unclocked ? [] : judgeOrder(history, possibilities);
  const violations = [
    ...judgeHolders(history),
    ...judgeFoundation(history),
    ...judgeTokens(history),
    ...judgeWrites(history),
    ...findings.flatMap((finding) => finding.violations),
  ];
  const undecided = findings.flatMap(({ undecided }) => undecided ?? []);
  const orders = new Map(history.events.map(({ source, order }) => [source, order]));
  const lastOrder = ({ evidence }: Violation): number => Math.max(...evidence.map((each) => orders.get(each) ?? 0));
  return {
    title: history.title,
    accepted: violations.length === 0 && undecided.length === 0,
    violations: violations.sort((a, b) => lastOrder(a) - lastOrder(b)),
    undecided,
    unread: unreadSessions(history),
    counts: count(history),
  };
}

function judgeOrder(history: History, possibilities: number): ReturnType<typeof searchSession>[] {
  const time = new AuthorityTime(history);
  return [...bySession(history.calls)].map(([session, calls]) =>
    searchSession(session, stepsOf(history, session, calls, time), possibilities),
  );
}

function count(history: History): HistoryCounts {
  const { calls, writes, believes, faults, kills } = history;
  const grants = calls.filter(({ answer }) => answer.answer === "granted");
  const holds = new Map<string, Set<string>>();
  for (const { invoke, answer } of grants) {
    if (answer.answer !== "granted") continue;
    holds.set(invoke.session, (holds.get(invoke.session) ?? new Set()).add(`${answer.token}`));
  }
  const all = [...calls, ...writes];
  return {
    sessions: new Set(all.map(({ invoke }) => invoke.session)).size,
    processes: new Set(all.map(({ invoke }) => invoke.process)).size,
    calls: calls.length,
    unknown: calls.filter(({ answer }) => answer.answer === "unknown").length,
    grants: grants.length,
    takeovers: [...holds.values()].reduce((sum, tokens) => sum + tokens.size - 1, 0),
    renewals: grants.filter(({ invoke }) => invoke.op === "renew").length,
    beliefs: believes.length,
    writes: writes.length,
    acknowledged: writes.filter(({ invoke, answer }) => invoke.op === "append" && answer.answer === "accepted").length,
    faults: faults.length,
    kills: kills.length,
  };
}
