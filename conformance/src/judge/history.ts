/**
 * A history: every event of every process in one order, calls paired with their returns.
 *
 * *Before* always means a smaller `order`. One file keeps its own order, also among events at the same instant. Files are
 * merged by `at`; at the same instant beginnings come before endings, so that calls of different processes that may have
 * overlapped are taken to have overlapped: the judge convicts nobody for a tie.
 */

import {
  type Answer,
  type BelieveEvent,
  type CeaseEvent,
  type FaultEvent,
  type HistoryEvent,
  type InvokeEvent,
  type KillEvent,
  LEASE_OPS,
  type LogEvent,
  type MetaEvent,
  type ReturnEvent,
  type Source,
  type Untold,
} from "./event.js";
import { HistoryFormatError } from "./fields.js";
import { parseEvents } from "./parse.js";

export type Ordered<E> = E & Readonly<{ order: number }>;
/** What lasted from some point on, until `order`. Just before it, if nothing else is said. */
export type Lasting<E> = E & Readonly<{ order: number; began: number }>;

/** One question and what became of it. */
export type Call = Readonly<{
  invoke: Ordered<InvokeEvent>;
  /** Absent when the process never learnt the answer: killed, or the history ends first. */
  returned?: Ordered<ReturnEvent>;
  /** `unknown` for a call that never returned. */
  answer: Answer;
  /** When it was over; infinity for a call that may still be applied. */
  end: number;
}>;

export interface History {
  readonly title: string | undefined;
  readonly epoch: number | undefined;
  readonly skew: number;
  readonly ttl: number | undefined;
  readonly grain: number;
  readonly forgetAfter: number;
  readonly retries: boolean;
  readonly unclocked: boolean;
  readonly local: boolean;
  readonly untold: ReadonlySet<Untold>;
  readonly breaks: readonly string[];
  readonly events: readonly Ordered<HistoryEvent>[];
  /** Calls of leases, in order of asking. */
  readonly calls: readonly Call[];
  /** Calls of stores, in order of asking. */
  readonly writes: readonly Call[];
  readonly believes: readonly Ordered<BelieveEvent>[];
  readonly ceases: readonly Ordered<CeaseEvent>[];
  readonly kills: readonly Lasting<KillEvent>[];
  readonly faults: readonly Lasting<FaultEvent>[];
  readonly logs: readonly Ordered<LogEvent>[];
}

/** File names with their text, to one history. Throws `HistoryFormatError`. */
export function readHistory(files: readonly Readonly<{ name: string; text: string }>[]): History {
  const metas: MetaEvent[] = [];
  const streams = files.map(({ name, text }) => {
    const events: HistoryEvent[] = [];
    for (const event of parseEvents(text, name)) {
      if (event.event === "meta") metas.push(event);
      else events.push(event);
    }
    checkSteady(events);
    return events;
  });
  return historyOf(mergeMetas(metas), merge(streams));
}

/** Each session's own, in their order. */
export function bySession(calls: readonly Call[]): ReadonlyMap<string, readonly Call[]> {
  const grouped = new Map<string, Call[]>();
  for (const call of calls) {
    const own = grouped.get(call.invoke.session);
    if (own === undefined) grouped.set(call.invoke.session, [call]);
    else own.push(call);
  }
  return grouped;
}

/** The lines of a call. */
export function sourcesOf({ invoke, returned }: Call): readonly Source[] {
  return returned === undefined ? [invoke.source] : [invoke.source, returned.source];
}

function historyOf(meta: Omit<MetaEvent, "event" | "source">, merged: readonly HistoryEvent[]): History {
  const events = merged.map((event, order) => ({ ...event, order }));
  const of = <K extends HistoryEvent["event"]>(kind: K): Ordered<Extract<HistoryEvent, { event: K }>>[] =>
    events.filter((event) => event.event === kind) as Ordered<Extract<HistoryEvent, { event: K }>>[];
  const calls = pair(of("invoke"), of("return"));
  for (const { invoke } of calls) {
    if (invoke.op !== "acquire" || invoke.ttl !== undefined || meta.ttl !== undefined) continue;
    wrong(invoke.source, "an acquire without a ttl means the adapter's own, which no meta line of the history gives");
  }
  const isLease = ({ invoke }: Call): boolean => (LEASE_OPS as readonly string[]).includes(invoke.op);
  return {
    title: meta.title,
    epoch: meta.epoch,
    skew: meta.skew ?? 0,
    ttl: meta.ttl,
    grain: Math.max(meta.grain ?? 1, 1),
    forgetAfter: meta.forgetAfter ?? Number.POSITIVE_INFINITY,
    retries: meta.retries ?? false,
    unclocked: meta.unclocked ?? false,
    local: meta.local ?? false,
    untold: new Set(meta.untold),
    breaks: meta.breaks ?? [],
    events,
    calls: calls.filter(isLease),
    writes: calls.filter((call) => !isLease(call)),
    believes: of("believe"),
    ceases: of("cease"),
    kills: of("kill").map((event) => lasting(event, events)),
    faults: of("fault").map((event) => lasting(event, events)),
    logs: of("log"),
  };
}

function lasting<E extends KillEvent | FaultEvent>(
  event: Ordered<E>,
  events: readonly Ordered<HistoryEvent>[],
): Lasting<E> {
  const { since, order } = event;
  let first = order;
  while (since !== undefined && first > 0 && (events[first - 1]?.at ?? since) >= since) first -= 1;
  return { ...event, began: first - 0.5 };
}

/** What one file says holds for all; the last to say it wins. */
function mergeMetas(metas: readonly MetaEvent[]): Omit<MetaEvent, "event" | "source"> {
  const merged: Record<string, unknown> = {};
  for (const meta of metas) {
    for (const [field, value] of Object.entries(meta)) if (value !== undefined) merged[field] = value;
  }
  return merged;
}

function checkSteady(events: readonly HistoryEvent[]): void {
  let latest = Number.NEGATIVE_INFINITY;
  for (const { at, source } of events) {
    if (at < latest) wrong(source, `"at" falls from ${latest} to ${at}; one recorder's clock never steps back`);
    latest = at;
  }
}

const BEGINNINGS: ReadonlySet<HistoryEvent["event"]> = new Set(["invoke"]);

function merge(streams: readonly (readonly HistoryEvent[])[]): HistoryEvent[] {
  const [only, second] = streams;
  if (only !== undefined && second === undefined) return [...only];
  const heads = streams.map(() => 0);
  const merged: HistoryEvent[] = [];
  for (;;) {
    let next: { stream: number; event: HistoryEvent } | undefined;
    for (const [stream, events] of streams.entries()) {
      const event = events[heads[stream] ?? 0];
      if (event !== undefined && (next === undefined || comesFirst(event, next.event))) next = { stream, event };
    }
    if (next === undefined) return merged;
    merged.push(next.event);
    heads[next.stream] = (heads[next.stream] ?? 0) + 1;
  }
}

function comesFirst(event: HistoryEvent, other: HistoryEvent): boolean {
  if (event.at !== other.at) return event.at < other.at;
  return BEGINNINGS.has(event.event) && !BEGINNINGS.has(other.event);
}

function pair(invokes: readonly Ordered<InvokeEvent>[], returns: readonly Ordered<ReturnEvent>[]): Call[] {
  const asked = new Map<string, Ordered<InvokeEvent>>();
  for (const invoke of invokes) {
    if (asked.has(invoke.call)) wrong(invoke.source, `the call ${invoke.call} was made before`);
    asked.set(invoke.call, invoke);
  }
  const answered = new Map<string, Ordered<ReturnEvent>>();
  for (const event of returns) {
    const invoke = asked.get(event.call);
    if (invoke === undefined || invoke.order > event.order)
      wrong(event.source, `the call ${event.call} was never made`);
    if (answered.has(event.call)) wrong(event.source, `the call ${event.call} has returned before`);
    if (!FITTING[invoke.op].includes(event.answer.answer)) {
      wrong(event.source, `"${event.answer.answer}" is no answer to ${invoke.op}`);
    }
    answered.set(event.call, event);
  }
  return invokes.map((invoke) => {
    const returned = answered.get(invoke.call);
    if (returned === undefined) return { invoke, answer: { answer: "unknown" }, end: Number.POSITIVE_INFINITY };
    const { answer } = returned;
    return { invoke, returned, answer, end: answer.answer === "unknown" ? Number.POSITIVE_INFINITY : returned.order };
  });
}

const ALWAYS = ["unknown", "error"] as const;
const FITTING: Readonly<Record<InvokeEvent["op"], readonly Answer["answer"][]>> = {
  acquire: ["granted", "held", ...ALWAYS],
  renew: ["granted", "refused", ...ALWAYS],
  transfer: ["granted", "refused", ...ALWAYS],
  release: ["released", "absent", "other", ...ALWAYS],
  forceRelease: ["done", "nothing", ...ALWAYS],
  requestRelease: ["done", "nothing", ...ALWAYS],
  inspect: ["free", "seen", ...ALWAYS],
  open: ["accepted", "stale", ...ALWAYS],
  append: ["accepted", "stale", ...ALWAYS],
  erase: ["accepted", "stale", ...ALWAYS],
};

function wrong({ file, line }: Source, problem: string): never {
  throw new HistoryFormatError(file, line, problem);
}
