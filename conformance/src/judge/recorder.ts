/**
 * Writes down what one process asks, is told and believes. It changes nothing: every answer and every error passes through
 * as it came, and nothing waits for it.
 *
 * A call is written before it is made and again when it returns, so that a process killed in between leaves a call without
 * a return, which the judge takes for an unknown outcome. The readings of the authority's clock stand outside of the call on
 * both sides, so that the instant at which it is judged lies between them.
 */

import {
  type Clock,
  type FullSessionLease,
  findLeaseError,
  forwardLease,
  hostClock,
  type Lease,
  type LeaseErrorCode,
  type LeaseHeldError,
  type SessionLease,
} from "@leasehold/session-lease";
import { encodeEvent, type UnwrittenEvent } from "./encode.js";
import type { Answer, FaultEvent, InvokeEvent, LogEntry, MetaEvent, StoreOp } from "./event.js";
import type { Sink } from "./sink.js";

export interface RecorderOptions {
  readonly sink: Sink;
  /** Unique in the history. A process that is started again is another one. */
  readonly process: string;
  /** `monotonic` is the `at` of every event; it must be one clock for the whole history. The host's unless given. */
  readonly clock?: Clock | undefined;
  /** Epoch ms on the authority's clock, where it can be read: `clock.wall` for files on this host and for memory. */
  readonly authority?: (() => number) | undefined;
}

/** The hold that a holder speaks of. */
export type RecordedHold = Pick<Lease, "sessionId" | "owner" | "token">;
type Asked = Pick<InvokeEvent, "session" | "op"> & Partial<InvokeEvent>;

export class Recorder {
  readonly #sink: Sink;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #authority: (() => number) | undefined;
  #calls = 0;

  constructor({ sink, process, clock = hostClock, authority }: RecorderOptions) {
    this.#sink = sink;
    this.#process = process;
    this.#clock = clock;
    this.#authority = authority;
  }

  /** The same lease, with its calls written down. */
  lease<L extends SessionLease>(inner: L): L {
    // Powers that the lease lacks are never called, or refuse as they would without a recorder.
    const full = inner as L & FullSessionLease;
    return forwardLease<L>(inner, {
      acquire: (session, owner, options = {}) => {
        const { ttl, above } = options;
        const asked = { session, op: "acquire", owner, ttl, above } as const;
        return this.#record(asked, () => inner.acquire(session, owner, options), granted);
      },
      renew: (lease, options = {}) => {
        const { ttl, reclaimExpired } = options;
        const asked = { ...refOf(lease), op: "renew", ttl, reclaimExpired } as const;
        return this.#record(asked, () => inner.renew(lease, options), granted);
      },
      release: (lease, options) =>
        this.#record(
          { ...refOf(lease), op: "release" },
          () => inner.release(lease, options),
          (answer) => ({ answer }),
        ),
      transfer: (lease, newOwner, options = {}) => {
        const asked = { ...refOf(lease), op: "transfer", newOwner, ttl: options.ttl } as const;
        return this.#record(asked, () => full.transfer(lease, newOwner, options), granted);
      },
      forceRelease: (session, options = {}) => {
        const asked = { session, op: "forceRelease", token: options.expectedToken, by: options.by } as const;
        return this.#record(asked, () => full.forceRelease(session, options), done);
      },
      requestRelease: (session, options = {}) => {
        const asked = { session, op: "requestRelease", token: options.expectedToken, by: options.by } as const;
        return this.#record(asked, () => full.requestRelease(session, options), done);
      },
      inspect: (session, options) =>
        this.#record(
          { session, op: "inspect" },
          () => full.inspect(session, options),
          (info) =>
            info === undefined
              ? { answer: "free" }
              : { answer: "seen", owner: info.owner, token: info.token, expiry: info.expiry },
        ),
    });
  }

  /**
   * A call of a store. `answer` tells what the result means, `refusal` what an error does: `stale` for one that is certain
   * to have kept the write out for its token, otherwise it may have been applied.
   */
  write<T>(
    asked: Readonly<{ session: string; op: StoreOp; token: bigint; write?: string | undefined }>,
    call: () => Promise<T>,
    { seq, isStale }: Readonly<{ seq?: (result: T) => number | undefined; isStale: (error: unknown) => boolean }>,
  ): Promise<T> {
    return this.#record(
      asked,
      call,
      (result) => ({ answer: "accepted", seq: seq?.(result) }),
      (error) => ({ answer: isStale(error) ? "stale" : "unknown" }),
    );
  }

  /** The holder believes from now on that it may act, until `until` on the recorder's clock. Again after every renewal. */
  believe({ sessionId: session, owner, token }: RecordedHold, until: number): void {
    this.#write({ event: "believe", at: this.#at(), process: this.#process, session, owner, token, until });
  }

  /** From now on it does not: given up, lost, or in doubt. */
  cease({ sessionId: session, owner, token }: RecordedHold): void {
    this.#write({ event: "cease", at: this.#at(), process: this.#process, session, owner, token });
  }

  /** The instant to pass as `since` to `killed` or `fault`, read before it is done. */
  now(): number {
    return this.#at();
  }

  /** `process` is gone: ended from outside, after `since`. */
  killed(process: string, since: number): void {
    this.#write({ event: "kill", at: this.#at(), process, since });
  }

  stopped(process: string): void {
    this.#write({ event: "stop", at: this.#at(), process });
  }

  continued(process: string): void {
    this.#write({ event: "continue", at: this.#at(), process });
  }

  /** A fault was done, after `since`. */
  fault(fault: Pick<FaultEvent, "fault" | "session" | "by"> & { of?: FaultEvent["of"] }, since: number): void {
    this.#write({ of: "authority", ...fault, event: "fault", at: this.#at(), since });
  }

  /** What is in the log when all is over. */
  log(session: string, entries: readonly LogEntry[]): void {
    this.#write({ event: "log", at: this.#at(), session, entries });
  }

  /** What holds for the whole history; one recorder of it writes this. */
  meta(meta: Omit<MetaEvent, "event" | "source">): void {
    this.#write({ event: "meta", ...meta });
  }

  async #record<T>(
    asked: Asked,
    call: () => Promise<T>,
    answerOf: (result: T) => Answer,
    failure: (error: unknown) => Answer = (error) => answerOfError(error, asked.op),
  ): Promise<T> {
    this.#calls += 1;
    const id = `${this.#process}:${this.#calls}`;
    this.#write({ ...asked, event: "invoke", process: this.#process, call: id, at: this.#at(), wall: this.#wall() });
    const returned = (answer: Answer): void => {
      const wall = this.#wall();
      this.#write({ event: "return", at: this.#at(), wall, call: id, answer });
    };
    try {
      const result = await call();
      returned(answerOf(result));
      return result;
    } catch (error) {
      returned(failure(error));
      throw error;
    }
  }

  #at(): number {
    return this.#clock.monotonic();
  }

  #wall(): number | undefined {
    return this.#authority?.();
  }

  #write(event: UnwrittenEvent): void {
    this.#sink.write(encodeEvent(event));
  }
}

const refOf = ({ sessionId, owner, token }: Readonly<{ sessionId: string; owner: string; token?: bigint }>) => ({
  session: sessionId,
  owner,
  token,
});

function granted({ owner, token, expiry, ttl, previous, releaseRequested }: Lease): Answer {
  const asked = releaseRequested === undefined ? undefined : true;
  return { answer: "granted", owner, token, expiry, ttl, previous, releaseRequested: asked };
}

const done = (did: boolean): Answer => ({ answer: did ? "done" : "nothing" });

/** Codes after which nothing can have been applied. Every other failure may have been, or may yet be. */
const WITHOUT_EFFECT: ReadonlySet<LeaseErrorCode> = new Set([
  "invalid",
  "unsupported",
  "denied",
  "incompatible",
  "closed",
]);

function answerOfError(error: unknown, op: InvokeEvent["op"]): Answer {
  const found = findLeaseError(error);
  if (found?.code === "held") {
    const { reason, retryAfterMs } = found as LeaseHeldError;
    return op === "acquire" ? { answer: "held", retryAfterMs } : { answer: "refused", reason };
  }
  return { answer: found !== undefined && WITHOUT_EFFECT.has(found.code) ? "error" : "unknown", code: found?.code };
}
