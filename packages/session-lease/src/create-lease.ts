import { Calls, UNCUT } from "./calls.js";
import { POWERS } from "./capabilities.js";
import type { LeaseDriver } from "./driver.js";
import { LeaseInvalidError, LeaseUnsupportedError } from "./errors.js";
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
  checkOwner,
  checkRef,
  checkReleaseNote,
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
  readonly watchRequests: FullSessionLease["watchRequests"];
  readonly #driver: LeaseDriver;
  readonly #calls: Calls;

  constructor(driver: LeaseDriver) {
    this.#driver = driver;
    this.#calls = new Calls(driver);
    this.name = driver.name;
    this.capabilities = driver.capabilities;
    if (driver.watchRequests !== undefined) this.watchRequests = (onRequest) => this.#watchRequests(onRequest);
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
    return this.#calls.run(
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
    return this.#calls.run("renew", sessionId, options, (context) => this.#driver.renew(request, context));
  }

  async release(lease: LeaseRef, options: CallOptions = NONE): Promise<ReleaseOutcome> {
    const ref = checkRef(lease);
    return this.#calls.run("release", ref.sessionId, options, (context) => this.#driver.release(ref, context));
  }

  async inspect(sessionId: string, options: CallOptions = NONE): Promise<LeaseInfo | undefined> {
    checkSessionId(sessionId);
    const inspect = this.#power("inspect");
    return this.#calls.run("inspect", sessionId, options, (context) => inspect.call(this.#driver, sessionId, context));
  }

  async list(options: ListOptions = NONE): Promise<LeasePage> {
    const { after, limit = DEFAULT_LIMIT } = options;
    if (after !== undefined) checkSessionId(after);
    checkLimit(limit);
    const list = this.#power("list");
    const page = { limit, ...(after !== undefined && { after }) };
    return this.#calls.run("list", undefined, options, (context) => list.call(this.#driver, page, context));
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
    return this.#calls.run("transfer", sessionId, options, (context) => transfer.call(this.#driver, request, context));
  }

  async forceRelease(sessionId: string, options: ForceReleaseOptions = NONE): Promise<boolean> {
    const note = checkReleaseNote(sessionId, options);
    const force = this.#power("forceRelease");
    return this.#calls.run("forceRelease", sessionId, options, (context) => force.call(this.#driver, note, context));
  }

  async requestRelease(sessionId: string, options: RequestReleaseOptions = NONE): Promise<boolean> {
    const note = checkReleaseNote(sessionId, options);
    const request = this.#power("requestRelease");
    return this.#calls.run("requestRelease", sessionId, options, (context) =>
      request.call(this.#driver, note, context),
    );
  }

  #watchRequests(onRequest: (sessionId: string) => void): () => void {
    const watch = this.#driver.watchRequests;
    if (watch === undefined || this.#calls.closed) return () => undefined;
    return watch.call(this.#driver, onRequest);
  }

  async waitForChange(sessionId: string, options: CallOptions = NONE): Promise<void> {
    checkSessionId(sessionId);
    const wait = this.#power("waitForChange");
    return this.#calls.runUntilClosed("waitForChange", sessionId, options, (signal) =>
      wait.call(this.#driver, sessionId, signal),
    );
  }

  async domain(options: CallOptions = NONE): Promise<string> {
    const domain = this.#power("domain");
    return this.#calls.run("domain", undefined, options, (context) => domain.call(this.#driver, context));
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #power<P extends (typeof POWERS)[number]>(power: P): NonNullable<LeaseDriver[P]> {
    const method = this.#driver[power];
    if (method === undefined) {
      throw new LeaseUnsupportedError(`${this.name} cannot ${power}`, { operation: power, retryable: false });
    }
    return method as NonNullable<LeaseDriver[P]>;
  }

  /**
   * An acquire that ends without its caller being told of a grant is followed by exactly one owner-conditional release,
   * unless it is known to have granted nothing. The owner was fresh for this attempt, so the release can touch no other.
   * If it fails, the ttl decides.
   */
  async #giveBack(sessionId: string, owner: string, granted: Lease | undefined): Promise<void> {
    if (granted === undefined && !this.capabilities.releaseByOwner) return;
    const ref = granted === undefined ? { sessionId, owner } : { sessionId, owner, token: granted.token };
    await this.#driver.release(ref, UNCUT);
  }
}
