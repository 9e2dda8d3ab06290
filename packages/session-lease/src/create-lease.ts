import { POWERS } from "./capabilities.js";
import type { Timer } from "./clock.js";
import type { CallContext, LeaseDriver, MaybePromise, ReleaseNote } from "./driver.js";
import {
  findLeaseError,
  LeaseAbortedError,
  LeaseClosedError,
  type LeaseError,
  LeaseInvalidError,
  LeaseUnknownOutcomeError,
  LeaseUnsupportedError,
} from "./errors.js";
import type {
  AcquireOptions,
  CallOptions,
  ForceReleaseOptions,
  FullSessionLease,
  Lease,
  LeaseInfo,
  LeasePage,
  LeaseRef,
  ListOptions,
  ReleaseOutcome,
  RenewOptions,
  RequestReleaseOptions,
} from "./lease.js";
import { isPending } from "./settle.js";
import {
  checkLimit,
  checkMetadata,
  checkNote,
  checkOwner,
  checkSessionId,
  checkToken,
  checkTtl,
} from "./validation.js";

const DEFAULT_LIMIT = 100;
const NONE: CallOptions = {};
const UNCUT: CallContext = {};

/** Puts the port in front of a driver. See `driver.ts` for who does what. */
export function createLease(driver: LeaseDriver): FullSessionLease {
  for (const power of POWERS) {
    if (driver.capabilities[power] !== (driver[power] !== undefined)) {
      throw new LeaseInvalidError(
        `${driver.name} declares ${power} as ${driver.capabilities[power]}, but its driver disagrees`,
      );
    }
  }
  checkTtl(driver.ttl);
  return new DriverLease(driver);
}

class DriverLease implements FullSessionLease {
  readonly name: string;
  readonly capabilities: FullSessionLease["capabilities"];
  readonly #driver: LeaseDriver;
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(driver: LeaseDriver) {
    this.#driver = driver;
    this.name = driver.name;
    this.capabilities = driver.capabilities;
  }

  async acquire(sessionId: string, owner: string, options: AcquireOptions = NONE): Promise<Lease> {
    const { ttl = this.#driver.ttl, metadata, above, tiedToProcess = false } = options;
    checkSessionId(sessionId);
    checkOwner(owner);
    checkTtl(ttl);
    if (metadata !== undefined) checkMetadata(metadata);
    if (above !== undefined) checkToken("above", above, 0n);
    const own = metadata === undefined ? undefined : { ...metadata };
    const request = { sessionId, owner, ttl, metadata: own, above, tiedToProcess };
    return this.#call(
      "acquire",
      sessionId,
      options,
      (context) => this.#driver.acquire(request, context),
      (granted) => this.#giveBack(sessionId, owner, granted),
    );
  }

  async renew(lease: LeaseRef, options: RenewOptions = NONE): Promise<Lease> {
    const { ttl, reclaimExpired = false } = options;
    if (ttl !== undefined) checkTtl(ttl);
    const { sessionId, owner, token } = checkRef(lease);
    const request = { sessionId, owner, token, ttl, reclaimExpired };
    return this.#call("renew", sessionId, options, (context) => this.#driver.renew(request, context));
  }

  async release(lease: LeaseRef, options: CallOptions = NONE): Promise<ReleaseOutcome> {
    const ref = checkRef(lease);
    return this.#call("release", ref.sessionId, options, (context) => this.#driver.release(ref, context));
  }

  async inspect(sessionId: string, options: CallOptions = NONE): Promise<LeaseInfo | undefined> {
    checkSessionId(sessionId);
    const inspect = this.#power("inspect");
    return this.#call("inspect", sessionId, options, (context) => inspect.call(this.#driver, sessionId, context));
  }

  async list(options: ListOptions = NONE): Promise<LeasePage> {
    const { after, limit = DEFAULT_LIMIT } = options;
    if (after !== undefined) checkSessionId(after);
    checkLimit(limit);
    const list = this.#power("list");
    const page = { limit, ...(after !== undefined && { after }) };
    return this.#call("list", undefined, options, (context) => list.call(this.#driver, page, context));
  }

  async transfer(
    lease: LeaseRef,
    newOwner: string,
    options: CallOptions & { readonly ttl?: number | undefined } = NONE,
  ): Promise<Lease> {
    const { ttl } = options;
    checkOwner(newOwner);
    if (ttl !== undefined) checkTtl(ttl);
    const { sessionId, owner, token } = checkRef(lease);
    const request = { sessionId, owner, token, newOwner, ttl };
    const transfer = this.#power("transfer");
    return this.#call("transfer", sessionId, options, (context) => transfer.call(this.#driver, request, context));
  }

  async forceRelease(sessionId: string, options: ForceReleaseOptions = NONE): Promise<boolean> {
    const note = checkReleaseNote(sessionId, options);
    const force = this.#power("forceRelease");
    return this.#call("forceRelease", sessionId, options, (context) => force.call(this.#driver, note, context));
  }

  async requestRelease(sessionId: string, options: RequestReleaseOptions = NONE): Promise<boolean> {
    const note = checkReleaseNote(sessionId, options);
    const request = this.#power("requestRelease");
    return this.#call("requestRelease", sessionId, options, (context) => request.call(this.#driver, note, context));
  }

  async waitForChange(sessionId: string, options: CallOptions = NONE): Promise<void> {
    checkSessionId(sessionId);
    const wait = this.#power("waitForChange");
    // Not AbortSignal.any: what it makes of a signal that lives as long as the lease is never collected.
    const ended = new AbortController();
    const end = (): void => ended.abort(options.signal?.reason);
    const signals = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
    for (const signal of signals) {
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
    }
    try {
      const { signal } = ended;
      await this.#call("waitForChange", sessionId, { signal }, () => wait.call(this.#driver, sessionId, signal));
    } catch (error) {
      throw this.#closing.signal.aborted ? this.#closedError("waitForChange", sessionId) : error;
    } finally {
      for (const signal of signals) signal.removeEventListener("abort", end);
    }
  }

  async domain(options: CallOptions = NONE): Promise<string> {
    const domain = this.#power("domain");
    return this.#call("domain", undefined, options, (context) => domain.call(this.#driver, context));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    const { timeout, clock } = this.#driver;
    let grace: Timer | undefined;
    const answered = this.#answered();
    if (timeout === undefined) await answered;
    else await Promise.race([answered, new Promise<void>((over) => (grace = clock.schedule(over, timeout)))]);
    grace?.cancel();
    await this.#driver.close?.();
  }

  async #answered(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  #power<P extends (typeof POWERS)[number]>(power: P): NonNullable<LeaseDriver[P]> {
    const method = this.#driver[power];
    if (method === undefined) {
      throw new LeaseUnsupportedError(`${this.name} cannot ${power}`, { operation: power, retryable: false });
    }
    return method as NonNullable<LeaseDriver[P]>;
  }

  #closedError(operation: string, sessionId: string | undefined): LeaseClosedError {
    return new LeaseClosedError(`${this.name} is closed`, { operation, sessionId });
  }

  /** `undo` gives back what the call was, or may have been, granted without its caller being told. */
  #call<T>(
    operation: string,
    sessionId: string | undefined,
    { signal }: CallOptions,
    start: (context: CallContext) => MaybePromise<T>,
    undo?: (granted: T | undefined) => Promise<void>,
  ): MaybePromise<T> {
    if (this.#closed !== undefined) throw this.#closedError(operation, sessionId);
    if (signal?.aborted === true) throw aborted(operation, sessionId, signal);
    const cut = this.#driver.timeout === undefined ? undefined : new AbortController();
    const context = cut === undefined && signal === undefined ? UNCUT : { signal: cut?.signal ?? signal };
    const answer = startSafely(start, context);
    if (!isPending(answer)) return answer;

    const known = answer.then(undefined, async (error: unknown) => {
      const told = inContext(error, operation, sessionId);
      if (told.code === "unknown-outcome") await undo?.(undefined);
      throw told;
    });
    this.#track(known);
    if (context === UNCUT) return known;
    return this.#race(known, operation, sessionId, signal, cut, undo);
  }

  /**
   * The driver's answer, the caller's abort or the deadline, whichever comes first. What is granted after one of the other
   * two has gone first is undone; what is unknown then has been undone already.
   */
  #race<T>(
    answer: Promise<T>,
    operation: string,
    sessionId: string | undefined,
    signal: AbortSignal | undefined,
    cut: AbortController | undefined,
    undo?: (granted: T) => Promise<void>,
  ): Promise<T> {
    const { timeout, clock, name } = this.#driver;
    return new Promise<T>((resolve, reject) => {
      let timer: Timer | undefined;
      let waiting = true;
      const settle = (): boolean => {
        const first = waiting;
        waiting = false;
        timer?.cancel();
        signal?.removeEventListener("abort", onAbort);
        return first;
      };
      const giveUp = (error: LeaseError): void => {
        if (!settle()) return;
        reject(error);
        cut?.abort(error);
        this.#track(answer.then(undo, () => undefined));
      };
      const onAbort = (): void => giveUp(aborted(operation, sessionId, signal));
      answer.then(
        (value) => settle() && resolve(value),
        (error: unknown) => settle() && reject(error),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
      if (timeout !== undefined && operation !== "waitForChange") {
        const message = `${name} did not answer within ${timeout} ms`;
        timer = clock.schedule(() => giveUp(new LeaseUnknownOutcomeError(message, { operation, sessionId })), timeout);
      }
      // The driver itself may have set it off.
      if (signal?.aborted === true) onAbort();
    });
  }

  /** Calls that a driver has not answered yet, abandoned ones included: close waits for them. */
  #track(promise: Promise<unknown>): void {
    const forget = (): void => void this.#inFlight.delete(promise);
    this.#inFlight.add(promise);
    promise.then(forget, forget);
  }

  /**
   * An acquire that ends without its caller being told of a grant is followed by exactly one owner-conditional release,
   * unless it is known to have granted nothing. The owner was fresh for this attempt, so the release can touch no other.
   * If it fails, the ttl decides.
   */
  async #giveBack(sessionId: string, owner: string, granted: Lease | undefined): Promise<void> {
    if (granted === undefined && !this.capabilities.releaseByOwner) return;
    const ref = granted === undefined ? { sessionId, owner } : { sessionId, owner, token: granted.token };
    const answer = startSafely((context) => this.#driver.release(ref, context), UNCUT);
    await Promise.allSettled([answer]);
  }
}

/** A driver may throw as well as reject. */
function startSafely<T>(start: (context: CallContext) => MaybePromise<T>, context: CallContext): MaybePromise<T> {
  try {
    return start(context);
  } catch (error) {
    return Promise.reject(error);
  }
}

function aborted(operation: string, sessionId: string | undefined, signal: AbortSignal | undefined): LeaseAbortedError {
  return new LeaseAbortedError(`${operation} was aborted`, { operation, sessionId, cause: signal?.reason });
}

/** A driver's error, told where it happened. What is not an error of the port may have happened at any point of the call. */
function inContext(error: unknown, operation: string, sessionId: string | undefined): LeaseError {
  const found = findLeaseError(error);
  if (found !== undefined) {
    if (found.operation === undefined) Object.assign(found, { operation });
    if (found.sessionId === undefined && sessionId !== undefined) Object.assign(found, { sessionId });
    return found;
  }
  return new LeaseUnknownOutcomeError(`${operation} failed in a way its adapter did not foresee`, {
    cause: error,
    operation,
    sessionId,
    retryable: false,
  });
}

function checkRef(lease: LeaseRef): LeaseRef {
  if (typeof lease !== "object" || lease === null)
    throw new LeaseInvalidError("a lease is needed to renew or release it");
  const { sessionId, owner, token } = lease;
  checkSessionId(sessionId);
  checkOwner(owner);
  if (token === undefined) return { sessionId, owner };
  checkToken("token", token);
  return { sessionId, owner, token };
}

function checkReleaseNote(sessionId: string, options: ForceReleaseOptions | RequestReleaseOptions): ReleaseNote {
  const { expectedToken, by, reason } = options;
  checkSessionId(sessionId);
  if (expectedToken !== undefined) checkToken("expectedToken", expectedToken);
  checkNote("by", by);
  checkNote("reason", reason);
  return {
    sessionId,
    ...(expectedToken !== undefined && { expectedToken }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
}
