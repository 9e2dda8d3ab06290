import { ALL_CAPABILITIES, type Capabilities } from "./capabilities.js";
import { CasLoop } from "./cas-loop.js";
import type { CasStore, Scanned } from "./cas-store.js";
import { ChangeWaiter } from "./change-waiter.js";
import type { Clock } from "./clock.js";
import { createLease } from "./create-lease.js";
import type {
  AcquireRequest,
  CallContext,
  LeaseDriver,
  MaybePromise,
  ReleaseNote,
  RenewRequest,
  TransferRequest,
} from "./driver.js";
import { LeaseHeldError, LeaseInvalidError } from "./errors.js";
import { Forgetter } from "./forgetter.js";
import { hostClock } from "./host-clock.js";
import type {
  FullSessionLease,
  Lease,
  LeaseInfo,
  LeasePage,
  LeaseRef,
  ProcessIdentity,
  ReleaseOutcome,
} from "./lease.js";
import { compareBytes } from "./order.js";
import { isLive, type LeaseRecord, leaseInfoOf, leaseOf, MAX_TOKEN } from "./record.js";
import { isPending, whenAnswered } from "./settle.js";
import type { Exhausted, Granted, Held, Refused } from "./transition.js";
import { watchedSilence } from "./watched-silence.js";

/** Ms. */
export const DEFAULT_TTL = 30_000;
/** Ms. */
export const DEFAULT_FORGET_AFTER = 60_000;
/** Ms, where several hosts' clocks seed the tokens: a day is more than any of them is wrong by. */
const FORGET_AFTER_WITHOUT_CLOCK = 86_400_000;

export interface CasLeaseOptions<V> extends CasStore<V> {
  /** Name of the adapter for messages. */
  readonly name: string;
  /** Decides expiry unless `load` answers with the store's own `now`. The host's, unless given. */
  readonly clock?: Clock | undefined;
  /**
   * What ends a hold that is not renewed. `clock` (unless given): its expiry, by the store's clock or by `clock`, which
   * every rival must share. `watched-silence`: that the record has not changed for its ttl while this process watched, for
   * a store without a clock and rivals on several hosts; `swap` must then answer with the new version. See
   * `watched-silence.ts`.
   */
  readonly expiry?: "clock" | "watched-silence" | undefined;
  /** Ms, for acquire without a ttl of its own; 30 s unless given. */
  readonly ttl?: number | undefined;
  /**
   * Ms for which a dead record is kept after its expiry and its token; 60 s unless given. With watched silence a day, for
   * it must be more than the clocks of any two hosts differ by: the clock of the next holder's host seeds the next token.
   */
  readonly forgetAfter?: number | undefined;
  /** Ms after which a store that has not answered is given up; absent for one that always answers. */
  readonly timeout?: number | undefined;
  /** This process, for leases that ask to be tied to it. */
  readonly ownProcess?: (() => ProcessIdentity | undefined) | undefined;
  /** True only when it is proved that the process no longer exists. */
  readonly isProcessGone?: ((process: ProcessIdentity) => boolean) | undefined;
  /** From 0 up to, not including, 1; for jitter. */
  readonly random?: (() => number) | undefined;
}

/** Turns a compare-and-set into a complete lease: `transition` around it, in a loop. See `CasStore` for what the store must promise. */
export function casLease<V>(options: CasLeaseOptions<V>): FullSessionLease {
  const { expiry = "clock", clock = hostClock } = options;
  const unclocked = expiry === "watched-silence";
  const { forgetAfter = unclocked ? FORGET_AFTER_WITHOUT_CLOCK : DEFAULT_FORGET_AFTER } = options;
  if (!Number.isInteger(forgetAfter) || forgetAfter < 1) {
    throw new LeaseInvalidError(
      `forgetAfter must be a whole number of milliseconds above 0, not ${String(forgetAfter)}`,
    );
  }
  const watched = unclocked ? { ...options, ...watchedSilence(options, clock) } : options;
  return createLease(new CasDriver(watched, forgetAfter));
}

class CasDriver<V> implements LeaseDriver {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly ttl: number;
  readonly clock: Clock;
  readonly timeout: number | undefined;
  readonly #options: CasLeaseOptions<V>;
  readonly #loop: CasLoop<V>;
  readonly #forgetter: Forgetter<V>;
  readonly list?: NonNullable<LeaseDriver["list"]>;
  readonly waitForChange?: NonNullable<LeaseDriver["waitForChange"]>;
  readonly domain?: NonNullable<LeaseDriver["domain"]>;
  readonly watchRequests?: NonNullable<LeaseDriver["watchRequests"]>;

  constructor(options: CasLeaseOptions<V>, forgetAfter: number) {
    const { clock = hostClock, random = Math.random, isProcessGone } = options;
    this.#options = options;
    this.name = options.name;
    this.ttl = options.ttl ?? DEFAULT_TTL;
    this.clock = clock;
    this.timeout = options.timeout;
    this.#forgetter = new Forgetter(options, clock, forgetAfter);
    this.#loop = new CasLoop(options, {
      clock,
      random,
      isProcessGone,
      onStored: (sessionId, record, now) => this.#forgetter.note(sessionId, record, now),
    });
    const { scan, watch, domain, requests } = options;
    if (scan !== undefined)
      this.list = (page, context) => listLive(scan.call(options, context), page, this.#now(), isProcessGone);
    if (watch !== undefined) {
      const waiter = new ChangeWaiter(options, watch.bind(options), clock, isProcessGone);
      this.waitForChange = (sessionId, signal) => waiter.wait(sessionId, signal);
    }
    if (requests !== undefined) this.watchRequests = (onRequest) => requests.listen(onRequest);
    if (domain !== undefined) this.domain = (context) => domain.call(options, context);
    this.capabilities = {
      ...ALL_CAPABILITIES,
      list: scan !== undefined,
      waitForChange: watch !== undefined,
      domain: domain !== undefined,
    };
  }

  acquire(request: AcquireRequest, context: CallContext): MaybePromise<Lease> {
    const { sessionId, owner, ttl, metadata, above, tiedToProcess } = request;
    const process = tiedToProcess ? this.#options.ownProcess?.() : undefined;
    const command = { op: "acquire", owner, ttl, metadata, above, process } as const;
    return whenAnswered(this.#loop.run(sessionId, command, context), (outcome) => grant(sessionId, outcome));
  }

  renew(request: RenewRequest, context: CallContext): MaybePromise<Lease> {
    const { sessionId, owner, token, ttl, reclaimExpired } = request;
    const process = this.#options.ownProcess?.();
    const command = { op: "renew", owner, token, ttl, reclaimExpired, process } as const;
    return whenAnswered(this.#loop.run(sessionId, command, context), (outcome) => grant(sessionId, outcome));
  }

  release({ sessionId, owner, token }: LeaseRef, context: CallContext): MaybePromise<ReleaseOutcome> {
    const command = { op: "release", owner, token } as const;
    return whenAnswered(this.#loop.run(sessionId, command, context), ({ kind }) => kind);
  }

  transfer(request: TransferRequest, context: CallContext): MaybePromise<Lease> {
    const { sessionId, owner, token, newOwner, ttl } = request;
    const command = { op: "transfer", owner, token, newOwner, ttl } as const;
    return whenAnswered(this.#loop.run(sessionId, command, context), (outcome) => grant(sessionId, outcome));
  }

  forceRelease({ sessionId, ...note }: ReleaseNote, context: CallContext): MaybePromise<boolean> {
    const command = { op: "force-release", ...note } as const;
    return whenAnswered(this.#loop.run(sessionId, command, context), ({ kind }) => kind === "done");
  }

  requestRelease({ sessionId, ...note }: ReleaseNote, context: CallContext): MaybePromise<boolean> {
    const command = { op: "request-release", ...note } as const;
    const asked = whenAnswered(this.#loop.run(sessionId, command, context), ({ kind }) => kind === "done");
    return whenAnswered(asked, (done) => (done ? this.#ring(sessionId) : false));
  }

  /** The request stands, whether or not the bell does. */
  #ring(sessionId: string): MaybePromise<true> {
    try {
      const rung = this.#options.requests?.ring(sessionId);
      const done = (): true => true;
      return isPending(rung) ? rung.then(done, done) : true;
    } catch {
      return true;
    }
  }

  async inspect(sessionId: string, context: CallContext): Promise<LeaseInfo | undefined> {
    // Read before the record: a hold that was renewed while the record was on its way is never taken for an expired one.
    const asked = this.#now();
    const loaded = await this.#options.load(sessionId, context);
    if (loaded?.broken !== undefined) throw loaded.broken;
    if (loaded?.record === undefined || !isLive(loaded.record, loaded.now ?? asked)) return undefined;
    return infoOf(sessionId, loaded, this.#options.isProcessGone);
  }

  async close(): Promise<void> {
    await this.#forgetter.stop();
    await this.#options.close?.();
  }

  #now(): number {
    return Math.floor(this.clock.wall());
  }
}

/** The hold as an observer sees it, with what is proved about its process. */
function infoOf(
  sessionId: string,
  { record, stated = record.expiry }: Readonly<{ record: LeaseRecord; stated?: number }>,
  isProcessGone: CasLeaseOptions<unknown>["isProcessGone"],
): LeaseInfo {
  const info = { ...leaseInfoOf(sessionId, record), expiry: stated };
  return record.process !== undefined && isProcessGone?.(record.process) === true
    ? { ...info, holderGone: true }
    : info;
}

async function listLive(
  records: Iterable<Scanned> | AsyncIterable<Scanned>,
  { after, limit }: { after?: string; limit: number },
  asked: number,
  isProcessGone: CasLeaseOptions<unknown>["isProcessGone"],
): Promise<LeasePage> {
  const live: Scanned[] = [];
  for await (const scanned of records) {
    if (after !== undefined && compareBytes(scanned.sessionId, after) <= 0) continue;
    if (isLive(scanned.record, scanned.now ?? asked)) live.push(scanned);
  }
  live.sort((a, b) => compareBytes(a.sessionId, b.sessionId));
  const leases = live.slice(0, limit).map((scanned) => infoOf(scanned.sessionId, scanned, isProcessGone));
  const last = leases.at(-1);
  return live.length > limit && last !== undefined ? { leases, next: last.sessionId } : { leases };
}

/** The lease of a grant; throws what refused it. */
function grant(sessionId: string, outcome: Granted | Held | Refused | Exhausted): Lease {
  switch (outcome.kind) {
    case "granted":
      return leaseOf(sessionId, outcome.record);
    case "held": {
      const { retryAfterMs, heldForMs } = outcome;
      throw new LeaseHeldError("the session is held by another owner", { retryAfterMs, heldForMs });
    }
    case "refused":
      throw new LeaseHeldError(LOSS[outcome.reason], { reason: outcome.reason, retryable: false });
    case "exhausted":
      throw new LeaseInvalidError(`the session has used up its tokens: none is left below ${MAX_TOKEN + 1n}`);
  }
}

const LOSS = {
  expired: "the lease expired before it was renewed",
  taken: "the session is held by another owner, or under another token",
  released: "the lease was released",
  forced: "the lease was broken by force",
  deleted: "the record of the lease is gone",
} as const;
