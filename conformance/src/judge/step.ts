/** What takes its place in the order of one session: its calls, and the faults that struck its record. */

import type { AuthorityTime, Instant } from "./authority-time.js";
import { describeCall } from "./describe.js";
import type { FaultEvent, InvokeEvent, Source } from "./event.js";
import { explain, explainUnknown, type World } from "./explain.js";
import { type Call, type History, type Lasting, sourcesOf } from "./history.js";
import { ANYTHING, exactly, type KnownRecord, NONE, type PossibleRecord } from "./possible-record.js";

/** Something that is applied at one point of the order. */
export type Step = Readonly<{
  id: number;
  begin: number;
  /** Infinity if it may be applied at any later time, or never. */
  end: number;
  /** Where it ends. */
  ended: Instant | undefined;
  /** From here on it can no longer be applied, if it never was. Infinity for most. */
  lapses: number;
  /** It may have been applied by then although nothing showed it; absent: that is settled where it lapses. */
  lapsed?: Instant | undefined;
  /** It may leave something else than it found, also where what is known before and after reads the same. */
  changes: boolean;
  /** It may be applied any number of times until then. */
  repeats: boolean;
  /** Its answer names the hold before it, which therefore somebody saw: of this owner, or none. */
  reveals: Readonly<{ previous: string | undefined }> | undefined;
  sources: readonly Source[];
  describe: () => string;
  /** The records that may be kept after it, if it is applied before `until`. */
  apply: (possible: PossibleRecord, until: Instant) => readonly PossibleRecord[];
  /** What to go on with once it has turned out that nothing explains it. */
  assumed: PossibleRecord;
}>;

/** What gives its caller the same thing twice, so that an adapter may simply ask again when a reply is lost. */
const REPEATABLE: ReadonlySet<string> = new Set(["acquire", "renew", "requestRelease"]);
/** Answers of calls that were applied to the record. */
const CHANGING: ReadonlySet<string> = new Set(["granted", "released", "done", "unknown"]);

type Unnumbered = Omit<Step, "id">;

/** The steps of one session; `calls` are its calls. */
export function stepsOf(history: History, session: string, calls: readonly Call[], time: AuthorityTime): Step[] {
  const world = worldOf(history, calls);
  const { retries, local } = history;
  const faults = history.faults.filter(
    (fault) => fault.of === "authority" && fault.fault !== "step" && (fault.session ?? session) === session,
  );
  const deaths = local ? deathsOf(history) : new Map<string, Instant>();
  const ofCalls = calls.flatMap((call) =>
    stepsOfCall(call, time, world, retries).map((step) => lapsing(step, deaths.get(call.invoke.process))),
  );
  const steps = [...ofCalls, ...faults.map(stepOfFault)];
  return steps.map((step, id) => ({ ...step, id }));
}

/** When each process was gone for certain: a killed process is another one when it is started again. */
function deathsOf({ kills, events }: History): ReadonlyMap<string, Instant> {
  return new Map(
    kills.map(({ process, order, at }) => {
      // With a reading of the authority's clock, which the event itself does not carry.
      const after = events.find(
        (event) => event.order > order && (event.event === "invoke" || event.event === "return"),
      );
      return [process, { order, at, wall: after !== undefined && "wall" in after ? after.wall : undefined }];
    }),
  );
}

/** The same step, that of a process which dies: what is unknown of it has happened by then, or never will. */
function lapsing(step: Unnumbered, death: Instant | undefined): Unnumbered {
  const { ended, begin, lapses } = step;
  if (death === undefined || ended !== undefined || death.order < begin || death.order > lapses) return step;
  return { ...step, lapses: death.order, lapsed: death };
}

function stepsOfCall(call: Call, time: AuthorityTime, world: World, retries: boolean): Unnumbered[] {
  const { invoke, returned, answer, end } = call;
  const common = {
    begin: invoke.order,
    end,
    ended: returned,
    reveals:
      answer.answer === "granted" && !world.untold.has("previous") ? { previous: answer.previous?.owner } : undefined,
    sources: sourcesOf(call),
    describe: () => describeCall(call),
    assumed: assumedAfter(call),
    lapses: Number.POSITIVE_INFINITY,
    changes: CHANGING.has(answer.answer),
    repeats: false,
  };
  const unknown = (asked: InvokeEvent): Unnumbered => ({
    ...common,
    end: Number.POSITIVE_INFINITY,
    ended: undefined,
    apply: (possible, until) => explainUnknown(possible, asked, time.span(call, until), world),
  });
  const repeated = retries && REPEATABLE.has(invoke.op) ? repetitions(unknown(invoke), call) : [];
  if (Number.isFinite(end)) {
    const answered: Unnumbered = {
      ...common,
      apply: (possible, until) => explain(possible, invoke, answer, time.span(call, until), world),
    };
    return [answered, ...repeated];
  }
  switch (invoke.op) {
    case "inspect":
      return [];
    case "acquire":
      // Whoever gives up an acquire takes it back, by owner, now or later.
      return [unknown(invoke), unknown({ ...invoke, op: "release", token: undefined }), ...repeated];
    default:
      return [unknown(invoke), ...repeated];
  }
}

/** Twice more before it returned, and on top of any application, as often as it gives the same hold the same thing again. */
function repetitions(once: Unnumbered, { invoke, returned, end }: Call): Unnumbered[] {
  const again: Step["apply"] = (possible, until) => {
    if (possible.kind !== "record" || (possible.record.owner !== invoke.owner && invoke.owner !== undefined)) return [];
    return once.apply(possible, until).filter((next) => isSameHold(possible, next));
  };
  const within = { ...once, lapses: returned?.order ?? Number.POSITIVE_INFINITY };
  return [within, within, { ...once, lapses: end, repeats: true, apply: again }];
}

function isSameHold({ record, hidden }: KnownRecord, next: PossibleRecord): boolean {
  return (
    next.kind === "record" &&
    next.record.owner === record.owner &&
    next.record.token === record.token &&
    next.hidden === hidden
  );
}

function stepOfFault(fault: Lasting<FaultEvent>): Unnumbered {
  const after = fault.fault === "delete" ? NONE : ANYTHING;
  return {
    begin: fault.began,
    end: fault.order,
    ended: fault,
    lapses: Number.POSITIVE_INFINITY,
    changes: true,
    repeats: false,
    reveals: undefined,
    sources: [fault.source],
    describe: () => `the record suffered the fault ${fault.fault}`,
    apply: () => [after],
    assumed: after,
  };
}

function assumedAfter({ invoke, answer }: Call): PossibleRecord {
  if (answer.answer !== "granted") return ANYTHING;
  const { token, expiry, ttl, previous, releaseRequested } = answer;
  const acquiredAt = expiry - ttl;
  const owner = answer.owner ?? invoke.newOwner ?? invoke.owner ?? "";
  return exactly({
    ...{ owner, token, expiry, ttl, acquiredAt, metadata: {}, standing: "held" },
    ...(previous && { previous }),
    ...(releaseRequested === true && { releaseRequested: { at: acquiredAt } }),
  });
}

function worldOf({ ttl, grain, skew, forgetAfter, untold, kills }: History, calls: readonly Call[]): World {
  const tokens = new Map<string, Set<bigint>>();
  const note = (owner: string | undefined, token: bigint | undefined): void => {
    if (owner === undefined || token === undefined) return;
    tokens.set(owner, (tokens.get(owner) ?? new Set()).add(token));
  };
  const goneFrom = new Map<string, number>();
  for (const { invoke, answer } of calls) {
    note(invoke.owner, invoke.op === "transfer" || invoke.op === "acquire" ? undefined : invoke.token);
    if (answer.answer === "granted") {
      note(answer.owner ?? invoke.newOwner ?? invoke.owner, answer.token);
      note(answer.previous?.owner, answer.previous?.token);
    }
    if (answer.answer === "seen") note(answer.owner, answer.token);
    if (invoke.op !== "acquire" || invoke.owner === undefined) continue;
    const kill = kills.find(({ process, order }) => process === invoke.process && order > invoke.order);
    if (kill !== undefined) goneFrom.set(invoke.owner, kill.began);
  }
  const none: ReadonlySet<bigint> = new Set();
  return {
    ...{ ttl, grain, skew, forgetAfter, untold },
    gone: (owner, before) => (goneFrom.get(owner) ?? Number.POSITIVE_INFINITY) < before,
    tokensOf: (owner) => tokens.get(owner) ?? none,
  };
}
