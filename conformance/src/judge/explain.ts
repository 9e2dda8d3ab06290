/**
 * One call against one possible record: the records that may be kept after it if it was judged now; none if its answer
 * cannot be given. All meaning comes from `transition` of the port; this file only chooses instants to ask it about.
 *
 * - A grant reveals its instant, `expiry - ttl`, and is asked about there.
 * - What any other answer depends on is at most whether the record is live. So one instant on each side of the expiry
 *   stands for all, and the answer narrows the expiry where that is an interval.
 * - A call of unknown outcome is applied with what it may have left: an expiry of some instant, and for a new hold either a
 *   token that the history shows for its owner or one that nobody ever saw.
 *
 * `skew` widens every span, and moves a stored expiry up by as much where that helps: that is how an adapter without an
 * exact clock judges its rivals.
 */

import {
  type Command,
  type LeaseRecord,
  MIN_TTL,
  type Outcome,
  type PreviousHold,
  transition,
} from "@leasehold/session-lease";
import type { Span } from "./authority-time.js";
import type { Answer, InvokeEvent, Untold } from "./event.js";
import { exactly, type KnownRecord, NONE, type PossibleRecord } from "./possible-record.js";

/** What the whole history says about one session. */
export interface World {
  /** Ms: of an acquire that gave none. */
  readonly ttl: number | undefined;
  readonly grain: number;
  readonly skew: number;
  readonly forgetAfter: number;
  readonly untold: ReadonlySet<Untold>;
  /** The process that acquired for this owner was killed, or about to be, before this point of the history. */
  gone(owner: string, before: number): boolean;
  /** Tokens of this owner that appear anywhere in the history. */
  tokensOf(owner: string): ReadonlySet<bigint>;
}

/** The call was answered so. */
export function explain(
  possible: PossibleRecord,
  invoke: InvokeEvent,
  answer: Answer,
  span: Span,
  world: World,
): readonly PossibleRecord[] {
  if (answer.answer === "error") return [possible];
  if (possible.kind === "anything") return explainAnything(invoke, answer, span);
  return forgetting(possible, span, world).flatMap((kept) =>
    answer.answer === "granted"
      ? explainGrant(kept, invoke, answer, span, world)
      : explainUnchanging(kept, invoke, answer, span, world),
  );
}

/** What changes nothing but the hold of the owner that asks. */
const BY_OWNER: ReadonlySet<string> = new Set(["renew", "transfer", "release"]);

/** The call may have been applied though nobody was told: what it may have left, where it changed anything. */
export function explainUnknown(
  possible: PossibleRecord,
  invoke: InvokeEvent,
  span: Span,
  world: World,
): readonly PossibleRecord[] {
  if (possible.kind === "anything" || invoke.op === "inspect") return [];
  if (BY_OWNER.has(invoke.op) && (possible.kind !== "record" || possible.record.owner !== invoke.owner)) return [];
  const command = commandOf(invoke, ttlOf(invoke, world));
  return forgetting(possible, span, world).flatMap((kept) => {
    const gone = withGone(command, kept, span, world);
    const commands = gone === command ? [command] : [command, gone];
    return commands
      .flatMap((each) => ask(kept, each, span, world))
      .flatMap((asked) => (asked.next === undefined ? [] : leftBy(command, asked, asked.next, world)));
  });
}

type Asked = Readonly<{
  outcome: Outcome;
  next: LeaseRecord | undefined;
  /** The part of the span that this was the answer for. */
  span: Span;
  /** The record, narrowed to what gives this answer. */
  kept: PossibleRecord;
}>;

/** `transition` at an instant on either side of the expiry. */
function ask(possible: PossibleRecord, command: Command, span: Span, { skew }: World): Asked[] {
  if (possible.kind !== "record") {
    return [{ ...transition(undefined, command, span.from), span, kept: possible }];
  }
  const { record, expiry } = possible;
  if (record.standing !== "held") return [{ ...transition(record, command, span.from), span, kept: possible }];
  const { earliest, latest } = expiry;
  const asked: Asked[] = [];
  if (span.from < latest + skew) {
    const live = { earliest: Math.max(earliest, span.from + 1 - skew), latest };
    const at = { ...span, to: Math.min(span.to, latest + skew - 1) };
    const answer = transition({ ...record, expiry: Math.max(latest, at.from + 1) }, command, at.from);
    asked.push({ ...answer, span: at, kept: { ...possible, expiry: live } });
  }
  if (span.to >= earliest) {
    const dead = { earliest, latest: Math.min(latest, span.to) };
    const at = { ...span, from: Math.max(span.from, earliest) };
    const answer = transition({ ...record, expiry: earliest }, command, at.from);
    asked.push({ ...answer, span: at, kept: { ...possible, expiry: dead } });
  }
  return asked;
}

function explainGrant(
  kept: PossibleRecord,
  invoke: InvokeEvent,
  answer: Extract<Answer, { answer: "granted" }>,
  span: Span,
  world: World,
): PossibleRecord[] {
  const now = answer.expiry - answer.ttl;
  const asked = ttlOf(invoke, world);
  if (now < span.from || now > span.to || !isRounded(asked, answer.ttl, world.grain)) return [];
  const command = commandOf(invoke, asked === undefined ? undefined : answer.ttl);
  const told = answer.previous?.ended === "dead" ? withGone(command, kept, span, world) : command;
  const shown = assumeToken(kept, invoke, answer.token, now);
  if (shown === undefined) return [];
  return ask(shown, told, { ...span, from: now, to: now }, world).flatMap(({ next }) => {
    if (next === undefined || !tells(answer, next, world.untold)) return [];
    return [exactly({ ...next, token: answer.token, expiry: answer.expiry })];
  });
}

/** A hidden token takes the value that would lead to the one granted, where there is such a value. */
function assumeToken(
  kept: PossibleRecord,
  { above = -1n }: InvokeEvent,
  granted: bigint,
  now: number,
): PossibleRecord | undefined {
  if (kept.kind !== "record" || !kept.hidden) return kept;
  const floor = above + 1n > BigInt(now) ? above + 1n : BigInt(now);
  const token = granted > floor ? granted - 1n : kept.record.token;
  return token < kept.record.token ? undefined : { ...kept, record: { ...kept.record, token } };
}

function isRounded(asked: number | undefined, stored: number, grain: number): boolean {
  return asked === undefined || (stored >= asked && stored < asked + grain);
}

function tells(
  answer: Extract<Answer, { answer: "granted" }>,
  next: LeaseRecord,
  untold: ReadonlySet<Untold>,
): boolean {
  return (
    answer.token === next.token &&
    answer.ttl === next.ttl &&
    answer.expiry === next.expiry &&
    (answer.owner === undefined || answer.owner === next.owner) &&
    (untold.has("previous") || isSamePrevious(answer.previous, next.previous)) &&
    (untold.has("releaseRequested") || (answer.releaseRequested ?? false) === (next.releaseRequested !== undefined))
  );
}

function isSamePrevious(a: PreviousHold | undefined, b: PreviousHold | undefined): boolean {
  return a?.owner === b?.owner && a?.token === b?.token && a?.ended === b?.ended;
}

function explainUnchanging(
  possible: PossibleRecord,
  invoke: InvokeEvent,
  answer: Answer,
  span: Span,
  world: World,
): PossibleRecord[] {
  if (invoke.op === "inspect") return explainInspect(possible, answer, span, world);
  const command = commandOf(invoke, ttlOf(invoke, world));
  return ask(possible, command, span, world).flatMap(({ outcome, next, span: at, kept }) => {
    if (outcome.kind !== answer.answer) return [];
    if (outcome.kind === "refused" && answer.answer === "refused") {
      return answer.reason === undefined || answer.reason === outcome.reason ? [kept] : [];
    }
    if (answer.answer === "held") {
      return revealed(kept, world.untold.has("retryAfterMs") ? undefined : answer.retryAfterMs, at);
    }
    return next === undefined ? [kept] : [ended(kept, next, at)];
  });
}

/** The time that a rival was told to wait reveals the expiry as exactly as the span allows. */
function revealed(kept: PossibleRecord, retryAfterMs: number | undefined, span: Span): PossibleRecord[] {
  if (kept.kind !== "record" || retryAfterMs === undefined) return [kept];
  const earliest = Math.max(kept.expiry.earliest, span.from + retryAfterMs);
  const latest = Math.min(kept.expiry.latest, span.to + retryAfterMs);
  return earliest > latest ? [] : [{ ...kept, expiry: { earliest, latest } }];
}

/** After a release, a force-release or a release request. The first two move the expiry to their own instant, if that is earlier. */
function ended(kept: PossibleRecord, next: LeaseRecord, span: Span): PossibleRecord {
  if (kept.kind !== "record") return kept;
  if (next.standing === "held") return { ...kept, record: { ...next, token: kept.record.token } };
  const earliest = Math.min(kept.expiry.earliest, span.from);
  const latest = Math.min(kept.expiry.latest, span.to);
  return { ...kept, record: { ...next, token: kept.record.token }, expiry: { earliest, latest } };
}

function explainInspect(possible: PossibleRecord, answer: Answer, span: Span, world: World): PossibleRecord[] {
  // Whether a hold is live is what a release request asks first, and it changes nothing that is looked at here.
  return ask(possible, { op: "request-release" }, span, world).flatMap(({ outcome, kept }) => {
    const live = outcome.kind === "done";
    if (answer.answer !== "seen") return live ? [] : [kept];
    if (!live || kept.kind !== "record" || kept.record.owner !== answer.owner) return [];
    const { earliest, latest } = kept.expiry;
    if (answer.expiry < earliest || answer.expiry > latest) return [];
    if (kept.hidden || kept.record.token !== answer.token) return [];
    return [{ ...kept, expiry: { earliest: answer.expiry, latest: answer.expiry } }];
  });
}

/** Nothing is known of what is kept: a grant tells all, any other answer nothing. */
function explainAnything(invoke: InvokeEvent, answer: Answer, span: Span): PossibleRecord[] {
  if (answer.answer !== "granted") return [{ kind: "anything" }];
  const { token, expiry, ttl, previous, releaseRequested } = answer;
  const now = expiry - ttl;
  if (now < span.from || now > span.to) return [];
  const owner = answer.owner ?? invoke.newOwner ?? invoke.owner ?? "";
  const asked = releaseRequested === true ? { releaseRequested: { at: now } } : {};
  const record = { owner, token, expiry, ttl, acquiredAt: now, metadata: {}, standing: "held" } as const;
  return [exactly({ ...record, ...asked, ...(previous && { previous }) })];
}

/** The records that a change of unknown instant may have left. */
function leftBy(command: Command, { span, kept }: Asked, next: LeaseRecord, world: World): PossibleRecord[] {
  if (command.op === "release" || command.op === "force-release" || command.op === "request-release") {
    return [ended(kept, next, span)];
  }
  const { ttl } = next;
  const longest = ttl + world.grain - 1;
  const expiry = { earliest: span.from + ttl, latest: span.to + longest };
  const left: KnownRecord = { kind: "record", record: next, expiry, hidden: false };
  if (kept.kind === "record" && kept.record.token === next.token) return [{ ...left, hidden: kept.hidden }];
  const observed = [...world.tokensOf(next.owner)].flatMap((token): KnownRecord[] => {
    // Above its floor a token is the instant of its grant. At the floor it tells only that the clock was not beyond it.
    const instant = Number(token);
    if (token < next.token || (token > next.token && instant > span.to)) return [];
    const earliest = token === next.token ? span.from : instant;
    const latest = Math.min(span.to, Math.max(instant, span.from));
    return [{ ...left, record: { ...next, token }, expiry: { earliest: earliest + ttl, latest: latest + longest } }];
  });
  return [...observed, { ...left, hidden: true }];
}

/** The same record, and nothing where it may have been forgotten by now. */
function forgetting(possible: PossibleRecord, span: Span, { forgetAfter, skew }: World): PossibleRecord[] {
  if (possible.kind !== "record" || !Number.isFinite(forgetAfter)) return [possible];
  const { record, expiry } = possible;
  const forgettable = Math.max(expiry.earliest, Number(record.token)) + forgetAfter - skew <= span.to;
  return forgettable ? [possible, NONE] : [possible];
}

/** The holder's process is gone, and an adapter may have proved it. */
function withGone(command: Command, possible: PossibleRecord, { before }: Span, world: World): Command {
  if (command.op !== "acquire" || possible.kind !== "record") return command;
  if (!world.gone(possible.record.owner, before)) return command;
  return { ...command, holderGone: true };
}

/** What the call asked for; undefined leaves the record's own. */
function ttlOf({ op, ttl }: InvokeEvent, world: World): number | undefined {
  return op === "acquire" ? (ttl ?? world.ttl) : ttl;
}

function commandOf(invoke: InvokeEvent, ttl: number | undefined): Command {
  const { op, owner = "", token, above, newOwner = "", reclaimExpired, by } = invoke;
  switch (op) {
    case "acquire":
      return { op, owner, above, ttl: ttl ?? MIN_TTL };
    case "renew":
      return { op, owner, token, ttl, reclaimExpired };
    case "transfer":
      return { op, owner, token, newOwner, ttl };
    case "release":
      return { op, owner, token };
    case "forceRelease":
      return { op: "force-release", expectedToken: token, by };
    default:
      return { op: "request-release", expectedToken: token, by };
  }
}
