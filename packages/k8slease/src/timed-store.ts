import {
  type CallContext,
  type CasStore,
  type Clock,
  elapsedForHolder,
  forgettableAt,
  LeaseAbortedError,
  type LeaseRecord,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  type Loaded,
  momentOf,
  type Scanned,
} from "@leasehold/session-lease";
import type { K8sStore, Version } from "./k8s-store.js";
import type { LeaseCalls } from "./lease-calls.js";
import { pulseOf } from "./lease-object.js";
import { probePrefix } from "./object-name.js";
import { type Bounds, DATE_RESOLUTION, type ServerTime } from "./server-time.js";
import type { Silence } from "./silence.js";

export interface TimedStoreParts {
  readonly store: K8sStore;
  readonly calls: LeaseCalls;
  readonly clock: Clock;
  readonly time: ServerTime;
  readonly silence: Silence;
  readonly domain: string;
  /** Ms. */
  readonly ttl: number;
  readonly serverSkew: number;
  readonly maxSilence: number;
  readonly forgetAfter: number;
}

/**
 * The store as this process may judge it: the expiry of every hold that it shows is the instant, by the upper bound of the
 * server's time, at which this process may call it dead. See `k8slease.ts` for why.
 */
export class TimedStore implements CasStore<Version> {
  readonly #parts: TimedStoreParts;
  #learning: Promise<void> | undefined;

  constructor(parts: TimedStoreParts) {
    this.#parts = parts;
  }

  async load(sessionId: string, context: CallContext): Promise<Loaded<Version>> {
    const { store, clock, time, silence } = this.#parts;
    await this.#ready(context);
    const asked = momentOf(clock);
    const loaded = await store.load(sessionId, context);
    const bounds = time.bounds();
    const now = bounds.upper;
    if (loaded?.record === undefined || loaded.record.standing !== "held") {
      silence.forget(sessionId);
      return { ...loaded, now };
    }
    // As of the instant of asking: what was renewed while the record was on its way is not dead.
    const age = Math.ceil(elapsedForHolder(asked, momentOf(clock)));
    const silent = silence.of(sessionId, pulseOf(loaded.version.object));
    const { record } = loaded;
    return { ...loaded, now, stated: record.expiry, record: this.#judged(record, bounds, silent, age) };
  }

  async presume(sessionId: string, context: CallContext): Promise<Loaded<Version>> {
    const { store, time, ttl } = this.#parts;
    await this.#ready(context);
    if (time.isVague(ttl)) await this.#learn(context);
    return store.presume(sessionId);
  }

  async swap(
    sessionId: string,
    version: Version | undefined,
    next: LeaseRecord | undefined,
    context: CallContext,
  ): Promise<boolean | Readonly<{ version: Version }>> {
    const { store, time } = this.#parts;
    if (next === undefined) this.#checkForgettable(version);
    // By memory, and the time is not known well enough for `renewTime`: what was just read need not be read again.
    if (version?.granted !== undefined && next?.standing === "held" && time.isVague(next.ttl)) return false;
    const stored = next && unjudged(version, next);
    const swapped = await store.swap(sessionId, version, stored, context);
    if (typeof swapped === "boolean" || stored === undefined) return swapped;
    if (version === undefined) this.#checkPrompt(stored);
    if (stored === next) checkRenewTime(stored, swapped.serverAtLeast);
    return { version: swapped.version };
  }

  async *scan(context: CallContext): AsyncIterable<Scanned> {
    await this.#ready(context);
    for await (const { sessionId, record } of this.#parts.store.scan(context)) {
      const bounds = this.#parts.time.bounds();
      const judged = record.standing === "held" ? this.#judged(record, bounds, 0, 0) : record;
      yield { sessionId, record: judged, now: bounds.upper, stated: record.expiry };
    }
  }

  watch(sessionId: string, onChange: () => void): () => void {
    return this.#parts.store.watch(sessionId, onChange);
  }

  domain(context: CallContext): Promise<string> {
    return this.#parts.store.domain(context);
  }

  close(): Promise<void> {
    return this.#parts.store.close();
  }

  /** Dead once the server's clock is past the expiry for certain, or once it was silent for its ttl: whichever is earlier. */
  #judged(record: LeaseRecord, { lower, upper }: Bounds, silent: number, age: number): LeaseRecord {
    const { serverSkew, maxSilence } = this.#parts;
    const width = upper - lower;
    const wait = serverSkew === 0 ? width : Math.max(width, DATE_RESOLUTION) + serverSkew;
    const bySilence = upper + Math.ceil(Math.min(record.ttl, maxSilence) - silent);
    return { ...record, expiry: Math.min(record.expiry + wait + age, bySilence, Number.MAX_SAFE_INTEGER) };
  }

  /** What is forgotten too early might let a token come again: the lower bound decides, of what the object really says. */
  #checkForgettable(version: Version | undefined): void {
    const { time, forgetAfter } = this.#parts;
    if (version?.record === undefined || forgettableAt(version.record, forgetAfter) <= time.lower()) return;
    throw new LeaseUnavailableError("it is not yet certain that the record can be forgotten");
  }

  /**
   * A creation that was held up while somebody else's hold came, went and was forgotten would bring an old token, and looking
   * again would not show it.
   */
  #checkPrompt({ acquiredAt }: LeaseRecord): void {
    const { time, forgetAfter } = this.#parts;
    if (time.upper() - acquiredAt <= forgetAfter / 2) return;
    throw new LeaseUnknownOutcomeError("the lease was created so late that its token may be too low", {
      retryable: false,
    });
  }

  async #ready(context: CallContext): Promise<void> {
    if (this.#parts.time.wantsProof) await this.#learn(context);
  }

  /** All who need it wait for one answer; one who gives up does not give up for the others. */
  #learn(context: CallContext): Promise<void> {
    this.#learning ??= this.#ask().finally(() => {
      this.#learning = undefined;
    });
    return unlessAborted(this.#learning, context);
  }

  #ask(): Promise<void> {
    const { calls, domain } = this.#parts;
    const metadata = { generateName: probePrefix(domain) };
    return calls.learnTime({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: {} }, {});
  }
}

/** A holder that counts its ttl from a time which the server's clock had passed already would be believed dead too early. */
function checkRenewTime({ standing, expiry, ttl }: LeaseRecord, serverAtLeast: number | undefined): void {
  if (standing !== "held" || serverAtLeast === undefined || serverAtLeast <= expiry - ttl) return;
  throw new LeaseUnknownOutcomeError("the API server's clock is ahead of what it could be; the lease is written again");
}

/** What was shown is for this process alone: who asks a holder to let go leaves the expiry as the holder wrote it. */
function unjudged(version: Version | undefined, next: LeaseRecord): LeaseRecord {
  const before = version?.record;
  const isMark =
    before?.standing === "held" &&
    next.standing === "held" &&
    next.owner === before.owner &&
    next.token === before.token &&
    next.releaseRequested !== undefined &&
    before.releaseRequested === undefined;
  return isMark ? { ...next, expiry: before.expiry } : next;
}

function unlessAborted(work: Promise<void>, { signal }: CallContext): Promise<void> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new LeaseAbortedError("the call was given up", { cause: signal.reason }));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
