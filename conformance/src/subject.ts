/**
 * What an author brings to the exam: how to open a fresh lease, and how its time moves. Everything beyond that lets more
 * checks run; a check that lacks something is reported as not applicable, with what it lacked.
 *
 * What the lease itself can do is not said here: the exam reads it from `lease.capabilities`.
 */

import type { CasStore, MaybePromise, SessionLease } from "@leasehold/session-lease";

/** Ms: time to live of the exam on a fake clock, and what an opened lease should have for its own. */
export const EXAM_TTL = 30_000;
/** Ms: the same where time is real. */
export const REAL_EXAM_TTL = 2_000;

export interface Subject {
  /** For the report: "memlease", "flocklease with a tight directory". */
  readonly name: string;
  /** A lease over a store of its own: nothing else, opened before or after, may see its sessions. */
  open(): MaybePromise<Opened>;
  /**
   * `fake` (unless given): the authority's time moves when `advance` moves it and never else. `real`: `advance` waits.
   */
  readonly clock?: "fake" | "real" | undefined;
  /**
   * Ms by which an instant of the authority may differ from what the exam reckons: 0 on a fake clock unless given; in
   * real time the longest that one call may take, 250 unless given. Checks of exact instants need a grain of 0.
   */
  readonly grain?: number | undefined;
  /** Ms: the opened lease's own ttl. `EXAM_TTL` on a fake clock, `REAL_EXAM_TTL` in real time, unless given. */
  readonly ttl?: number | undefined;
  /** Ms for which the opened lease keeps dead records. Given, forgetting is examined. */
  readonly forgetAfter?: number | undefined;
  /** True when no call leaves this process's memory: the exam then runs rounds by the thousand, otherwise by the hundred. */
  readonly inMemory?: boolean | undefined;
}

/** One opened lease and the handles on its world. */
export interface Opened {
  readonly lease: SessionLease;
  /** Lets `ms` pass for the authority and for the lease, and timers and promises settle. */
  advance(ms: number): MaybePromise<unknown>;
  /** The authority's clock, epoch ms. */
  now?(): MaybePromise<number>;
  /** Steps the authority's wall clock either way, as an operator would; no timer may fire for it. */
  step?(ms: number): MaybePromise<unknown>;
  /**
   * Steps the wall clock of the machine on which the lease runs, either way, where that is not the authority's: another one
   * is, or one that was passed to it. No timer may fire for it.
   */
  stepHost?(ms: number): MaybePromise<unknown>;
  /** Another lease on the same store, as another process would open it. The exam closes it. */
  reopen?(): MaybePromise<SessionLease>;
  /** How real processes open the same store. */
  readonly elsewhere?: Elsewhere | undefined;
  /** Reads and treats the store itself, behind the lease's back. */
  readonly oracle?: Oracle | undefined;
  /** Cuts the authority off, so that every request fails until the function returned is called. */
  outage?(): MaybePromise<() => MaybePromise<unknown>>;
  /** From now on what is written is applied at once but answered only after the function returned is called. */
  stall?(): MaybePromise<() => MaybePromise<unknown>>;
  /**
   * False where a foreign authority cannot be told a floor for its tokens. Such a lease refuses a grant that is not above
   * what it was asked for, and then hard tokens cannot be brought about.
   */
  readonly above?: boolean | undefined;
  /** Timers that the lease has set and neither fired nor cancelled. */
  timers?(): number;
  /** The compare-and-set below the lease, where there is one. Its promises are then examined too. */
  // biome-ignore lint/suspicious/noExplicitAny: versions are opaque, and `any` is how a store of any version is taken.
  readonly store?: Pick<CasStore<any>, "load" | "swap"> | undefined;
  /** Called after the lease was closed: removes the store. */
  close?(): MaybePromise<unknown>;
}

/**
 * How a process of its own opens the store. The exam starts some, on Linux, each with the host's clock; they contend with each
 * other and with nobody else.
 */
export interface Elsewhere {
  /** JavaScript that Node can import: its export `open(argument, clock)` returns a lease, or the promise of one. */
  readonly module: URL;
  /** Passed to it by way of JSON: where the store is. */
  readonly argument?: unknown;
  /**
   * True when an acquire reaches the store through `node:fs`. A process is then also stopped before each of those calls, in the
   * middle of whatever it writes, while another one goes on.
   */
  readonly files?: boolean | undefined;
}

/** A hand on the store itself. Each part that is there lets some checks run. */
export interface Oracle {
  /** All that the store has for a session, as text that is equal exactly if the bytes are; undefined for nothing. */
  read?(sessionId: string): MaybePromise<string | undefined>;
  /** Removes the session's record, as a careless operator would. */
  remove?(sessionId: string): MaybePromise<unknown>;
  /** Takes a copy of the whole store; the function returned puts it back. */
  backup?(): MaybePromise<() => MaybePromise<unknown>>;
  /** Damages the session's record so that it cannot be read; false would be a lie: it must be there. */
  corrupt?(sessionId: string): MaybePromise<unknown>;
  /** Requests that have reached the store so far. */
  requests?(): MaybePromise<number>;
  /** Objects, files or rows that the store keeps for sessions. */
  size?(): MaybePromise<number>;
}

/** Parts of a subject that a check may need; what a report says when one is missing. */
export const PART_MEANING = {
  exact: "the subject's clock is fake, with a grain of 0 ms",
  now: "the subject tells the authority's time (`now`)",
  step: "the subject can step the authority's clock (`step`)",
  stepHost: "the subject has a clock that does not decide, and can step it (`stepHost`)",
  reopen: "the subject can open its store a second time (`reopen`)",
  elsewhere: "the subject's store can be opened by other processes (`elsewhere`)",
  "elsewhere.files": "its processes reach the store through `node:fs` (`elsewhere.files`)",
  outage: "the subject can cut its authority off (`outage`)",
  stall: "the subject can hold answers back (`stall`)",
  above: "the subject's authority takes a floor for its tokens (`above` is not false)",
  timers: "the subject counts its timers (`timers`)",
  forgetAfter: "the subject names its `forgetAfter`",
  store: "the subject shows the compare-and-set below it (`store`)",
  "oracle.read": "the subject's oracle reads records (`oracle.read`)",
  "oracle.remove": "the subject's oracle removes records (`oracle.remove`)",
  "oracle.backup": "the subject's oracle copies and restores the store (`oracle.backup`)",
  "oracle.corrupt": "the subject's oracle damages records (`oracle.corrupt`)",
  "oracle.requests": "the subject's oracle counts requests (`oracle.requests`)",
  "oracle.size": "the subject's oracle counts what the store keeps (`oracle.size`)",
} as const;

export type Part = keyof typeof PART_MEANING;

/** The short way: a name, and a function that opens. */
export function subjectOf(subject: Subject | string, open?: Subject["open"]): Subject {
  if (typeof subject !== "string") return subject;
  if (open === undefined) throw new TypeError(`the subject "${subject}" needs a function that opens it`);
  return { name: subject, open };
}

/** Whether the subject, once opened, has this part. */
export function hasPart(subject: Subject, opened: Opened, part: Part): boolean {
  switch (part) {
    case "exact":
      return subject.clock !== "real" && (subject.grain ?? 0) === 0;
    case "forgetAfter":
      return subject.forgetAfter !== undefined;
    case "above":
      return opened.above !== false;
    case "elsewhere.files":
      return opened.elsewhere?.files === true;
    case "oracle.read":
    case "oracle.remove":
    case "oracle.backup":
    case "oracle.corrupt":
    case "oracle.requests":
    case "oracle.size":
      return opened.oracle?.[part.slice("oracle.".length) as keyof Oracle] !== undefined;
    default:
      return opened[part] !== undefined;
  }
}
