/**
 * The history of a world, with what only the world can know.
 *
 * A process that never hears what became of its call leaves the judge to try every order in which that call may have been
 * applied, now, later or never, and of twenty such calls there are too many. The world knows: it sees each change at the
 * authority. So a call whose answer was lost is told as one without effect, and each change that it did make as an answered call of the
 * network's, at the moment of the change. The same goes for what one call changed beside what it was told of: casLease may
 * write twice when the answer to its first write is lost.
 *
 * What holders believe is told by themselves and stays as it is. Only answers that changed something are passed on, so that
 * nobody seems to have been told of a loss that it never heard of.
 */

import type { Sink } from "@leasehold/conformance/judge";
import type { LeaseRecord, PreviousHold } from "@leasehold/session-lease";

/** A line of the history, as far as it is looked at here. */
type Line = Readonly<{
  event?: string;
  process?: string;
  call?: string;
  session?: string;
  op?: string | undefined;
  owner?: string | undefined;
  answer?: string;
  token?: unknown;
  expiry?: unknown;
  retryAfterMs?: number;
}>;
/** Of a change: `granted`, `released` or `done`, with all that the judge is told of a grant. */
export type EffectAnswer = Readonly<{
  answer: "granted" | "released" | "done";
  token?: bigint;
  expiry?: number;
  ttl?: number;
  previous?: PreviousHold | undefined;
  releaseRequested?: boolean;
  /** Epoch ms at which it was decided upon, where the answer itself does not tell. */
  decidedAt?: number;
}>;

/** Where an effect comes from: a call, or one that nobody asked for by name, as the release after an abandoned acquire. */
export type Cause = Readonly<{ call: string | undefined; asked: Line }>;

type Entry =
  | { readonly kind: "line"; readonly text: string; readonly line: Line }
  | {
      readonly kind: "effect";
      readonly cause: Cause;
      readonly answer: EffectAnswer;
      readonly at: number;
      readonly wall: number;
    };

/** Answers that changed the record. */
const EFFECTIVE: ReadonlySet<unknown> = new Set(["granted", "released", "done"]);
/** Operations of leases that change records. */
const CHANGING: ReadonlySet<unknown> = new Set(["acquire", "renew", "release", "forceRelease", "requestRelease"]);

export class Chronicle implements Sink {
  readonly #entries: Entry[] = [];
  readonly #invokes: Line[] = [];
  readonly #asking = new Set<string>();
  readonly #tellsWaits: boolean;
  #current: string | undefined;

  /** `tellsWaits`: the time that a refused rival is told to wait is counted in the same step as its refusal is decided upon. */
  constructor(tellsWaits: boolean) {
    this.#tellsWaits = tellsWaits;
  }

  write(text: string): void {
    const line = JSON.parse(text) as Line;
    if (line.answer === "held" && !this.#tellsWaits) {
      const { retryAfterMs: _, ...rest } = line;
      this.#entries.push({ kind: "line", text: JSON.stringify(rest), line: rest });
      return;
    }
    this.#entries.push({ kind: "line", text, line });
    if (line.event !== "invoke") return;
    this.#current = line.call ?? "";
    this.#invokes.push(line);
    if (line.op === "requestRelease") this.#asking.add(this.#current);
    // A call reaches its adapter before anything else happens.
    queueMicrotask(() => {
      this.#current = undefined;
    });
  }

  /** The call that has just been made, while its caller waits for nothing yet. */
  get currentCall(): string | undefined {
    return this.#current;
  }

  effect(cause: Cause, answer: EffectAnswer, at: number, wall: number): void {
    this.#entries.push({ kind: "effect", cause, answer, at, wall });
  }

  /** The last call of a process that may have led to this record, where the adapter cannot tell. */
  causeOf(process: string, session: string, record: LeaseRecord): Cause {
    const { owner, token } = record;
    const ops = { held: ["acquire", "renew"], released: ["release"], forced: ["forceRelease"] }[record.standing];
    const fits = (line: Line): boolean =>
      line.process === process &&
      line.session === session &&
      (ops.includes(line.op ?? "")
        ? line.owner === owner || record.standing === "forced"
        : line.op === "requestRelease" && record.standing === "held" && record.releaseRequested !== undefined);
    const last = this.#invokes.findLast(fits);
    return { call: last?.call, asked: { op: ops[0], session, owner, token } };
  }

  /** Whether a call only asks the holder to let go. */
  asksForRelease(call: string | undefined): boolean {
    return call !== undefined && this.#asking.has(call);
  }

  /** As `readHistory` reads it. */
  get text(): string {
    return this.#resolved()
      .map((line) => `${line}\n`)
      .join("");
  }

  #resolved(): string[] {
    const invokes = new Map<string, Line>();
    const returns = new Map<string, Line>();
    for (const entry of this.#entries) {
      if (entry.kind !== "line") continue;
      const { line } = entry;
      if (line.event === "invoke") invokes.set(line.call ?? "", line);
      if (line.event === "return") returns.set(line.call ?? "", line);
    }
    const own = this.#ownEffects();
    let echoes = 0;
    return this.#entries.flatMap((entry): string[] => {
      if (entry.kind === "effect") {
        if (own.has(entry)) return [];
        echoes += 1;
        return echo(
          entry,
          entry.cause.call === undefined ? undefined : invokes.get(entry.cause.call),
          `network!${echoes}`,
        );
      }
      const { line, text } = entry;
      const call = line.call ?? "";
      if (line.event === "invoke" && CHANGING.has(line.op) && !returns.has(call)) return [];
      if (line.event !== "return" || line.answer !== "unknown") return [text];
      if (!CHANGING.has(invokes.get(call)?.op)) return [text];
      return [JSON.stringify({ ...line, answer: "error" })];
    });
  }

  /** The effects that somebody was told of: the last of those that the answer fits, and that came before it. */
  #ownEffects(): ReadonlySet<Entry> {
    const own = new Set<Entry>();
    const asked = new Map<string, Readonly<{ line: Line; index: number }>>();
    /** By what the answer to it would tell. */
    const latest = new Map<string, Readonly<{ entry: Entry; index: number }>>();
    for (const [index, entry] of this.#entries.entries()) {
      if (entry.kind === "effect") {
        latest.set(tellOf(entry.cause.asked, entry.answer, entry.cause.call), { entry, index });
        continue;
      }
      const { line } = entry;
      const { call = "" } = line;
      if (line.event === "invoke") asked.set(call, { line, index });
      if (line.event !== "return" || !EFFECTIVE.has(line.answer)) continue;
      const invoke = asked.get(call);
      const effect = latest.get(tellOf(invoke?.line ?? {}, line, call));
      if (effect !== undefined && effect.index > (invoke?.index ?? 0)) own.add(effect.entry);
    }
    return own;
  }
}

/**
 * What an answer and its effect have in common. A hold is released once: a call that finds it released as it would have done
 * it is told so, though it was an earlier one of its owner's that came late.
 */
function tellOf(
  { session, owner }: Line,
  answer: Readonly<{ answer?: string; token?: unknown; expiry?: unknown }>,
  call: string | undefined,
): string {
  if (answer.answer === "granted") return grantOf(session, answer);
  return answer.answer === "released" ? `released ${session} ${owner}` : `call ${call}`;
}

/** Two grants have it in common where the clock stood still meanwhile; then they are one hold's. */
function grantOf(
  session: string | undefined,
  { token, expiry }: Readonly<{ token?: unknown; expiry?: unknown }>,
): string {
  return `${session} ${token} ${expiry}`;
}

function echo(
  { cause, answer, at, wall }: Extract<Entry, { kind: "effect" }>,
  original: Line | undefined,
  call: string,
): string[] {
  // What is stored was decided upon at an instant before, and tells of it. The clock may have been set back since.
  const { decidedAt, ...told } = answer;
  const { expiry, ttl = 0 } = told;
  const decided = decidedAt ?? (expiry === undefined ? wall : expiry - ttl);
  const asked = original ?? cause.asked;
  // No process has heard of it. An acquire is named after its own all the same, because the hold may end with that process.
  const process = (asked.op === "acquire" && asked.process) || "network";
  const invoke = { ...asked, process, event: "invoke", call, at, wall: Math.min(decided, wall) };
  return [invoke, { event: "return", at, wall: Math.max(decided, wall), call, ...told }].map((line) =>
    JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value)),
  );
}

/** What a record that has just been stored tells whoever stored it. */
export function answerOf(
  { standing, token, expiry, ttl, previous, releaseRequested, forced }: LeaseRecord,
  asks: boolean,
): EffectAnswer {
  if (standing === "released") return { answer: "released" };
  // What is broken by force was live when that was decided; it may have run out by the time at which it was stored.
  if (standing === "forced") return { answer: "done", ...(forced && { decidedAt: forced.at }) };
  if (asks) return { answer: "done", ...(releaseRequested && { decidedAt: releaseRequested.at }) };
  const requested = releaseRequested === undefined ? {} : { releaseRequested: true };
  return { answer: "granted", token, expiry, ttl, previous, ...requested };
}
