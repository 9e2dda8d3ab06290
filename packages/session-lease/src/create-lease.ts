import { POWERS } from "./capabilities.js";
import type { Timer } from "./clock.js";
import type { CallContext, LeaseDriver, MaybePromise, ReleaseNote } from "./driver.js";
import {
  findLeaseError,
  LeaseAbortedError,
  LeaseClosedError,
  LeaseError,
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
  /** Calls that a driver has not answered yet, abandoned ones included: close waits for them. */
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
    const request = {
      sessionId,
      owner,
      ttl,
      tiedToProcess,
      ...(metadata !== undefined && { metadata: { ...metadata } }),
      ...(above !== undefined && { above }),
    };
    return this.#call(
      "acquire",
      sessionId,
      options,
      (context) => this.#driver.acquire(request, context),
      (settled) => this.#compensate(sessionId, owner, settled),
    );
  }

  async renew(lease: LeaseRef, options: RenewOptions = NONE): Promise<Lease> {
    const { ttl, reclaimExpired = false } = options;
    if (ttl !== undefined) checkTtl(ttl);
    const request = { ...checkRef(lease), reclaimExpired, ...(ttl !== undefined && { ttl }) };
    return this.#call("renew", request.sessionId, options, (context) => this.#driver.renew(request, context));
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
    const request = { ...checkRef(lease), newOwner, ...(ttl !== undefined && { ttl }) };
    const transfer = this.#power("transfer");
    return this.#call("transfer", request.sessionId, options, (context) =>
      transfer.call(this.#driver, request, context),
    );
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
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
    await this.#driver.close?.();
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

  /** `abandoned` hears how a call ended that its caller no longer waits for. */
  #call<T>(
    operation: string,
    sessionId: string | undefined,
    { signal }: CallOptions,
    start: (context: CallContext) => MaybePromise<T>,
    abandoned?: (settled: PromiseSettledResult<T>) => Promise<void> | undefined,
  ): MaybePromise<T> {
    if (this.#closed !== undefined) throw this.#closedError(operation, sessionId);
    if (signal?.aborted === true) throw aborted(operation, sessionId, signal);
    const { timeout } = this.#driver;
    try {
      const cut = signal === undefined && timeout === undefined ? undefined : new AbortController();
      const answer = start({ signal: cut?.signal });
      if (!(answer instanceof Promise)) return answer;
      const known = answer.catch((error: unknown) => {
        throw inContext(error, operation, sessionId);
      });
      this.#track(known);
      return cut === undefined ? known : this.#race(known, operation, sessionId, signal, cut, abandoned);
    } catch (error) {
      throw inContext(error, operation, sessionId);
    }
  }

  /** The driver's answer, the caller's abort or the deadline, whichever comes first. */
  #race<T>(
    answer: Promise<T>,
    operation: string,
    sessionId: string | undefined,
    signal: AbortSignal | undefined,
    cut: AbortController,
    abandoned?: (settled: PromiseSettledResult<T>) => Promise<void> | undefined,
  ): Promise<T> {
    const { timeout, clock, name } = this.#driver;
    return new Promise<T>((resolve, reject) => {
      let timer: Timer | undefined;
      let waiting = true;
      const giveUp = (error: LeaseError): void => {
        if (!settle()) return;
        reject(error);
        cut.abort(error);
        const undone = Promise.allSettled([answer]).then(([settled]) => abandoned?.(settled));
        this.#track(undone);
      };
      const onAbort = (): void => giveUp(aborted(operation, sessionId, signal));
      const settle = (): boolean => {
        const first = waiting;
        waiting = false;
        timer?.cancel();
        signal?.removeEventListener("abort", onAbort);
        return first;
      };
      answer.then(
        (value) => settle() && resolve(value),
        (error: unknown) => settle() && reject(error),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
      if (timeout !== undefined && operation !== "waitForChange") {
        const message = `${name} did not answer within ${timeout} ms`;
        timer = clock.schedule(() => giveUp(new LeaseUnknownOutcomeError(message, { operation, sessionId })), timeout);
      }
    });
  }

  #track(promise: Promise<unknown>): void {
    const forget = (): void => void this.#inFlight.delete(promise);
    this.#inFlight.add(promise);
    promise.then(forget, forget);
  }

  /**
   * An abandoned acquire is followed by exactly one owner-conditional release, unless it is known to have granted
   * nothing. The owner was fresh for this attempt, so the release can touch no other. If it fails, the ttl decides.
   */
  #compensate(sessionId: string, owner: string, settled: PromiseSettledResult<Lease>): Promise<void> | undefined {
    if (settled.status === "rejected" && !mayHaveGranted(settled.reason)) return undefined;
    const token = settled.status === "fulfilled" ? settled.value.token : undefined;
    if (token === undefined && !this.capabilities.releaseByOwner) return undefined;
    const ref = { sessionId, owner, ...(token !== undefined && { token }) };
    return Promise.resolve()
      .then(() => this.#driver.release(ref, {}))
      .then(
        () => undefined,
        () => undefined,
      );
  }
}

function mayHaveGranted(error: unknown): boolean {
  return findLeaseError(error)?.code === "unknown-outcome";
}

function aborted(operation: string, sessionId: string | undefined, signal: AbortSignal | undefined): LeaseAbortedError {
  return new LeaseAbortedError(`${operation} was aborted`, { operation, sessionId, cause: signal?.reason });
}

/** A driver's error, told where it happened. What is not an error of the port may have happened at any point of the call. */
function inContext(error: unknown, operation: string, sessionId: string | undefined): LeaseError {
  if (error instanceof LeaseError) {
    if (error.operation === undefined) Object.assign(error, { operation });
    if (error.sessionId === undefined && sessionId !== undefined) Object.assign(error, { sessionId });
    return error;
  }
  const found = findLeaseError(error);
  if (found !== undefined) return found;
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
