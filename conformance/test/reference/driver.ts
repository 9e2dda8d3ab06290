/**
 * A lease in which every decision stands apart, so that a mutant can get one of them wrong: `transition` applied to a map
 * in one turn of the event loop, and around it no more than a lease needs. Nothing here is shared with `casLease`, which is
 * the other reference.
 *
 * Forgetting: one timer, set for the earliest record that may be forgotten; when it fires, all that may be are removed.
 */

import {
  ALL_CAPABILITIES,
  type CallContext,
  type Clock,
  type Command,
  compareBytes,
  forgettableAt,
  isForgettable,
  isLive,
  type Lease,
  type LeaseDriver,
  LeaseHeldError,
  type LeaseInfo,
  LeaseInvalidError,
  type LeaseRecord,
  LeaseUnavailableError,
  type Loaded,
  type MaybePromise,
  type Outcome,
  type Timer,
  transition,
} from "@leasehold/session-lease";
import type { Authority } from "./authority.js";

export const FORGET_AFTER = 60_000;

/** As `transition`, except that it may also remove the record. */
export type Decision = Readonly<{ outcome: Outcome; next: LeaseRecord | "removed" | undefined }>;

export type Decisions = Readonly<{
  step: (record: LeaseRecord | undefined, command: Command, now: number) => Decision;
  /** Where the record of a session is kept. */
  key: (sessionId: string) => string;
  /** Epoch ms from which on a record may be forgotten. */
  forgettableAt: (record: LeaseRecord) => number;
  /** Whether a dead record may be forgotten now. */
  forgettable: (record: LeaseRecord, now: number) => boolean;
  /** Whether a change wakes those who wait for one. */
  wakes: (before: LeaseRecord | undefined, after: LeaseRecord | undefined) => boolean;
}>;

export const SOUND: Decisions = {
  step: transition,
  key: (sessionId) => sessionId,
  forgettableAt: (record) => forgettableAt(record, FORGET_AFTER),
  forgettable: (record, now) => isForgettable(record, now, FORGET_AFTER),
  wakes: () => true,
};

/** The driver with all of its methods. */
export type ReferenceDriver = Required<Omit<LeaseDriver, "timeout" | "watchRequests">>;

export function referenceDriver(
  authority: Authority,
  clock: Clock,
  ttl: number,
  decisions: Decisions,
): ReferenceDriver {
  const { step, key, wakes } = decisions;
  const sweeper = new Sweeper(authority, clock, decisions);

  function load(sessionId: string): Loaded<number> {
    try {
      return authority.load(key(sessionId));
    } catch (error) {
      throw new LeaseUnavailableError("the authority cannot be reached", { cause: error });
    }
  }
  function apply(sessionId: string, command: Command): MaybePromise<Outcome> {
    const loaded = load(sessionId);
    const { outcome, next } =
      loaded?.broken === undefined ? step(loaded?.record, command, clock.wall()) : repair(command, loaded);
    if (next === undefined) return outcome;
    const stored = authority.swap(key(sessionId), loaded?.version, next === "removed" ? undefined : next);
    if (next !== "removed") sweeper.note(next);
    return typeof stored === "boolean" ? outcome : stored.then(() => outcome);
  }
  function granted(sessionId: string, command: Command): MaybePromise<Lease> {
    const outcome = apply(sessionId, command);
    return outcome instanceof Promise ? outcome.then((late) => grant(sessionId, late)) : grant(sessionId, outcome);
  }
  function told<T>(outcome: MaybePromise<Outcome>, tell: (outcome: Outcome) => T): MaybePromise<T> {
    return outcome instanceof Promise ? outcome.then(tell) : tell(outcome);
  }

  return {
    name: "reference",
    capabilities: ALL_CAPABILITIES,
    ttl,
    clock,
    acquire: ({ sessionId, owner, ttl, metadata, above }) =>
      granted(sessionId, { op: "acquire", owner, ttl, metadata, above }),
    renew: ({ sessionId, owner, token, ttl, reclaimExpired }) =>
      granted(sessionId, { op: "renew", owner, token, ttl, reclaimExpired }),
    transfer: ({ sessionId, owner, token, newOwner, ttl }) =>
      granted(sessionId, { op: "transfer", owner, token, newOwner, ttl }),
    release: ({ sessionId, owner, token }) =>
      told(apply(sessionId, { op: "release", owner, token }), ({ kind }) => kind as "released" | "absent" | "other"),
    forceRelease: ({ sessionId, ...note }) =>
      told(apply(sessionId, { op: "force-release", ...note }), ({ kind }) => kind === "done"),
    requestRelease: ({ sessionId, ...note }) =>
      told(apply(sessionId, { op: "request-release", ...note }), ({ kind }) => kind === "done"),
    inspect: (sessionId) => {
      const loaded = load(sessionId);
      if (loaded?.broken !== undefined) throw loaded.broken;
      const { record } = loaded ?? {};
      return record !== undefined && isLive(record, clock.wall()) ? infoOf(sessionId, record) : undefined;
    },
    list: ({ after, limit }) => {
      const live = authority
        .scan()
        .filter(
          ({ sessionId, record }) =>
            isLive(record, clock.wall()) && (after === undefined || compareBytes(sessionId, after) > 0),
        )
        .sort((a, b) => compareBytes(a.sessionId, b.sessionId));
      const leases = live.slice(0, limit).map(({ sessionId, record }) => infoOf(sessionId, record));
      const last = leases.at(-1);
      return live.length > limit && last !== undefined ? { leases, next: last.sessionId } : { leases };
    },
    waitForChange: (sessionId, signal) => waitForChange(authority, clock, key(sessionId), signal, wakes),
    domain: (_context: CallContext) => authority.domain(),
    close: () => sweeper.stop(),
  };
}

/** What cannot be read is touched by force alone, and only removed. */
function repair(command: Command, { broken }: Extract<Loaded<number>, { broken: object }>): Decision {
  if (command.op !== "force-release" || command.expectedToken !== undefined) throw broken;
  return { outcome: { kind: "done" }, next: "removed" };
}

async function waitForChange(
  authority: Authority,
  clock: Clock,
  key: string,
  signal: AbortSignal,
  wakes: Decisions["wakes"],
): Promise<void> {
  let unwatch: () => void = () => undefined;
  let timer: Timer | undefined;
  try {
    await new Promise<void>((resolve) => {
      unwatch = authority.watch(key, ({ before, after }) => wakes(before, after) && resolve());
      const record = authority.peek(key);
      if (record !== undefined && isLive(record, clock.wall())) {
        timer = clock.schedule(resolve, record.expiry - clock.wall());
      }
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    unwatch();
    timer?.cancel();
  }
  signal.throwIfAborted();
}

class Sweeper {
  readonly #authority: Authority;
  readonly #clock: Clock;
  readonly #decisions: Decisions;
  #timer: Timer | undefined;
  #due = Number.POSITIVE_INFINITY;

  constructor(authority: Authority, clock: Clock, decisions: Decisions) {
    this.#authority = authority;
    this.#clock = clock;
    this.#decisions = decisions;
  }

  note(record: LeaseRecord): void {
    const due = this.#decisions.forgettableAt(record);
    if (due >= this.#due) return;
    this.#timer?.cancel();
    this.#due = due;
    this.#timer = this.#clock.schedule(() => this.#sweep(), Math.max(due - this.#clock.wall(), 1));
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #sweep(): void {
    this.#due = Number.POSITIVE_INFINITY;
    for (const { sessionId, record } of this.#authority.scan()) {
      if (this.#decisions.forgettable(record, this.#clock.wall())) this.#authority.put(sessionId, undefined);
      else this.note(record);
    }
  }
}

export function grant(sessionId: string, outcome: Outcome): Lease {
  switch (outcome.kind) {
    case "granted":
      return leaseOf(sessionId, outcome.record);
    case "held":
      throw new LeaseHeldError("another owner has it", {
        retryAfterMs: outcome.retryAfterMs,
        heldForMs: outcome.heldForMs,
      });
    case "refused":
      throw new LeaseHeldError("it is lost", { reason: outcome.reason, retryable: false });
    default:
      throw new LeaseInvalidError("the tokens are used up");
  }
}

function leaseOf(sessionId: string, record: LeaseRecord): Lease {
  const { owner, token, expiry, ttl } = record;
  return {
    sessionId,
    owner,
    token,
    expiry,
    ttl,
    ...("previous" in record && { previous: record.previous as NonNullable<LeaseRecord["previous"]> }),
    ...(record.releaseRequested && { releaseRequested: record.releaseRequested }),
  };
}

export function infoOf(sessionId: string, record: LeaseRecord): LeaseInfo {
  const { previous: _past, ...lease } = leaseOf(sessionId, record);
  return { ...lease, acquiredAt: record.acquiredAt, metadata: record.metadata };
}
