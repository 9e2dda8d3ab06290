/**
 * What time it is at the API server, as far as this process can know: two bounds, in whole ms since the epoch.
 *
 * A reply's `Date` was read from the server's clock between sending and receiving, and cuts off what is below a second.
 * So on receipt the server's clock shows at least that, and less than that, a second and the round trip. From then on
 * the lower bound ages with the smaller of the two local clocks and the upper with the larger, each by one percent more:
 * a node whose wall clock is stepped, or that is suspended, knows less afterwards, and nothing false.
 *
 * States:
 * - *unknown*: nothing was heard yet.
 * - *agreed*: everything heard so far fits one clock. What is heard next narrows the bounds to what both allow, in the end
 *   to about a round trip.
 * - *several*: something was heard that does not fit: another API server, a proxy that puts its own `Date` on what it passes
 *   on, a clock that was stepped. Bounds are joined, never narrowed. Left after `SEVERAL_FOR`, by a proof alone.
 *
 * A *proof* is a reply whose body tells the time as well: the creation timestamp of an object, which no proxy rewrites.
 */

import { type Clock, elapsedForHolder, elapsedForWatcher, type Moment, momentOf } from "@leasehold/session-lease";

/** Ms that a `Date` cuts off at most. */
export const DATE_RESOLUTION = 1000;
/** How much faster or slower than the server's the local clocks may run: what the port's margin allows for as well. */
const DRIFT = 0.01;
/** Ms for which a disagreement is remembered. */
const SEVERAL_FOR = 300_000;

/** Ms, and a share of the ttl, by which the bounds may be apart before a takeover would be noticeably later for it. */
const VAGUE = 2000;
const VAGUE_SHARE = 0.02;

/** `date` and `created` as they came: an HTTP date, and RFC 3339 in whole seconds. */
export type TimeHeard = Readonly<{ date?: string | undefined; created?: string | null | undefined }>;
export type Bounds = Readonly<{ lower: number; upper: number }>;

export interface ServerTimeOptions {
  /** From 0 to below 1; 0.01 unless given. Zero is for clocks of a test, which do not drift. */
  readonly drift?: number | undefined;
}

/** One for each API server in a process: leases that share it learn from each other's replies. */
export class ServerTime {
  readonly #clock: Clock;
  readonly #drift: number;
  #bounds: Bounds | undefined;
  /** When the bounds held. */
  #at: Moment;
  /** When clocks were last found to disagree. */
  #several: Moment | undefined;

  constructor(clock: Clock, { drift = DRIFT }: ServerTimeOptions = {}) {
    this.#clock = clock;
    this.#drift = drift;
    this.#at = momentOf(clock);
  }

  get known(): boolean {
    return this.#bounds !== undefined;
  }

  /** Whether the next thing to hear should be a proof: nothing is known, or a disagreement is old enough to be looked into. */
  get wantsProof(): boolean {
    if (this.#bounds === undefined) return true;
    return this.#several !== undefined && elapsedForWatcher(this.#several, momentOf(this.#clock)) >= SEVERAL_FOR;
  }

  /** Whether so little was heard lately (or a local clock was stepped) that a look is worth its while before a write by memory. */
  isVague(ttl: number): boolean {
    const { lower, upper } = this.bounds();
    return this.#several === undefined && upper - lower > VAGUE + ttl * VAGUE_SHARE;
  }

  /** What the server's clock shows lies between these, both included. While nothing is known the host's clock is guessed by. */
  bounds(): Bounds {
    const known = this.#aged(momentOf(this.#clock));
    return known ?? { lower: Number.NEGATIVE_INFINITY, upper: Math.floor(this.#clock.wall()) };
  }

  upper(): number {
    return this.bounds().upper;
  }

  lower(): number {
    return this.bounds().lower;
  }

  /**
   * Takes in what a reply said about the time. Returns what the server's clock showed at least when the request was sent, going
   * by this reply alone; undefined if it said nothing.
   */
  heard({ date, created }: TimeHeard, sentAt: Moment): number | undefined {
    const received = momentOf(this.#clock);
    const said = [read(CREATED, created), read(HTTP_DATE, date)]
      .filter((told) => told !== undefined)
      .map((told) => ({ lower: told, upper: told + DATE_RESOLUTION - 1 + this.#atMost(sentAt, received) }));
    if (said.length === 0) return undefined;
    const before = this.#aged(received);
    // Undefined: body and header contradict each other.
    const fresh = said.reduce<Bounds | undefined>((all, each) => all && common(all, each), EVERYTHING);
    const fitting = fresh && (before === undefined ? fresh : common(before, fresh));
    if (fresh !== undefined && said.length === 2 && this.wantsProof) {
      this.#several = undefined;
      this.#set(fresh, received);
    } else if (this.#several === undefined && fitting !== undefined) {
      this.#set(fitting, received);
    } else {
      if (fitting === undefined) this.#several = received;
      this.#set([...said, ...(before === undefined ? [] : [before])].reduce(joined), received);
    }
    return Math.max(...said.map(({ lower }) => lower)) - this.#atMost(sentAt, received);
  }

  /** No proof could be had: not to be asked for again too soon. */
  putOffProof(): void {
    if (this.#several !== undefined) this.#several = momentOf(this.#clock);
  }

  #set(bounds: Bounds, at: Moment): void {
    this.#bounds = bounds;
    this.#at = at;
  }

  #aged(now: Moment): Bounds | undefined {
    if (this.#bounds === undefined) return undefined;
    const atLeast = Math.max(0, elapsedForWatcher(this.#at, now)) * (1 - this.#drift);
    return { lower: this.#bounds.lower + Math.floor(atLeast), upper: this.#bounds.upper + this.#atMost(this.#at, now) };
  }

  /** Ms that went by on the server's clock, at most. */
  #atMost(since: Moment, now: Moment): number {
    return Math.ceil(Math.max(0, elapsedForHolder(since, now)) * (1 + this.#drift));
  }
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const CREATED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

function read(form: RegExp, text: string | null | undefined): number | undefined {
  const told = typeof text === "string" && form.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isSafeInteger(told) ? told : undefined;
}

const EVERYTHING: Bounds = { lower: Number.NEGATIVE_INFINITY, upper: Number.POSITIVE_INFINITY };
const joined = (a: Bounds, b: Bounds): Bounds => ({
  lower: Math.min(a.lower, b.lower),
  upper: Math.max(a.upper, b.upper),
});

/** What both allow; undefined if they do not meet. */
function common(a: Bounds, b: Bounds): Bounds | undefined {
  const lower = Math.max(a.lower, b.lower);
  const upper = Math.min(a.upper, b.upper);
  return lower <= upper ? { lower, upper } : undefined;
}
