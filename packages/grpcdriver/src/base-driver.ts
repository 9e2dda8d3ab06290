/**
 * A driver of the base protocol: acquire, renew and release, a token and an expiry, and nothing besides.
 *
 * It does not say for how long its leases last, only when they end by its own clock, so its ttl must be told to the client.
 * The client counts validity from before each request, as ever, with the smaller of what it was told and of
 * `expiry - own clock at sending`. A driver whose clock is ahead cannot make a lease longer that way; one whose clock is
 * behind, or whose ttl is shorter than was told, makes every lease shorter, and if that is by more than `TOLERATED` the
 * client refuses to start: somebody has told it the wrong ttl, or a clock needs setting.
 *
 * What it cannot ask for it does without, and says so in its capabilities: a ttl or metadata of a call's own are not passed
 * on, nor is a wish to reclaim what has expired. A hold cannot be named by its owner alone. What it must not do without is
 * refused: a token that is not above the floor a store asked for is no grant.
 *
 * An acquire of unknown outcome is taken back all the same, in two steps: acquired once more under its owner, which brings
 * the token of a grant that was made, and released with it. If no grant had been made, one is now, for a moment; the owner is
 * fresh, so no other is touched.
 */

import { randomBytes } from "node:crypto";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type AcquireRequest,
  type CallContext,
  type Capabilities,
  type Clock,
  isLeaseCorrupt,
  isLeaseOutcomeUnknown,
  type Lease,
  LeaseCorruptError,
  type LeaseDriver,
  LeaseInvalidError,
  type LeaseRef,
  LeaseUnsupportedError,
  MAX_TOKEN,
  MIN_TTL,
  NO_CAPABILITIES,
  type ReleaseOutcome,
  type RenewRequest,
} from "@leasehold/session-lease";
import { SessionLeaseService as Core } from "../gen/mecatl/driver/v1/session_lease_pb.js";
import { leaseErrorOf } from "./failures.js";
import type { DriverParts } from "./remote-driver.js";
import { type Transport, TransportFailure } from "./transport.js";
import { baseLeaseFromWire, refToWire } from "./wire.js";

/** Ms by which a lease may be shorter than the client was told: what clocks that are kept in step differ by. */
const TOLERATED = 1_000;

/** Rejects with `LeaseInvalidError` when the driver's leases are shorter than `ttl` by more than a second. */
export async function openBaseDriver(parts: DriverParts): Promise<LeaseDriver> {
  const driver = new BaseDriver(parts);
  await driver.probe();
  return driver;
}

type Attempt = Readonly<{ sessionId: string; owner: string }>;
type BaseLease = ReturnType<typeof baseLeaseFromWire>;

class BaseDriver implements LeaseDriver {
  readonly name = "grpcdriver";
  readonly capabilities: Capabilities = NO_CAPABILITIES;
  readonly ttl: number;
  readonly clock: Clock;
  readonly #transport: Transport;
  readonly #callTimeout: number;

  constructor({ transport, clock, ttl, timeout }: DriverParts) {
    this.#transport = transport;
    this.#callTimeout = timeout;
    this.ttl = ttl;
    this.clock = clock;
  }

  /** Takes a lease that nobody else wants, looks at how long it lasts, and gives it back. */
  async probe(): Promise<void> {
    const name = randomBytes(12).toString("hex");
    const probe = { sessionId: `leasehold:probe:${name}`, owner: `probe-${name}` };
    const { sentAt, granted } = await this.#attempt(probe, {});
    await this.release(granted, {});
    const left = Math.floor(granted.expiry - sentAt);
    if (this.ttl - left <= TOLERATED) return;
    throw new LeaseInvalidError(
      `a lease of this driver lasts for ${left} ms by the clock of this host, and not for the ttl of ${this.ttl} ms that ` +
        "was told: give the driver's own ttl, or set the clocks",
    );
  }

  async acquire({ sessionId, owner, above = 0n }: AcquireRequest, context: CallContext): Promise<Lease> {
    if (above >= MAX_TOKEN) throw new LeaseInvalidError(`above ${above} no token is left`);
    const { sentAt, granted } = await this.#attempt({ sessionId, owner }, context);
    try {
      if (granted.token > above) return this.#lasting(granted, sentAt);
      throw new LeaseCorruptError(
        `the driver's token ${granted.token} is not above ${above}, which some store has seen: its count has fallen back`,
      );
    } catch (error) {
      await this.release(granted, {}).catch(() => undefined);
      throw error;
    }
  }

  async #attempt(attempt: Attempt, context: CallContext): Promise<{ sentAt: number; granted: BaseLease }> {
    try {
      const sentAt = this.clock.wall();
      const { lease } = await this.#call(Core.method.acquire, attempt, context);
      return { sentAt, granted: baseLeaseFromWire(lease, attempt) };
    } catch (error) {
      if (isLeaseOutcomeUnknown(error) || isLeaseCorrupt(error)) await this.#takeBack(attempt).catch(() => undefined);
      throw error;
    }
  }

  async #takeBack(attempt: Attempt): Promise<void> {
    const { lease } = await this.#call(Core.method.acquire, attempt, {}, true);
    await this.release(baseLeaseFromWire(lease, attempt), {});
  }

  async renew(request: RenewRequest, context: CallContext): Promise<Lease> {
    const { sessionId, owner, token } = request;
    if (token === undefined) throw ownerAlone("renew");
    const sentAt = this.clock.wall();
    const message = { lease: refToWire({ sessionId, owner, token }) };
    const { lease } = await this.#call(Core.method.renew, message, context, true);
    return this.#lasting(baseLeaseFromWire(lease, { sessionId, owner, token }), sentAt);
  }

  /** A base driver frees the hold or finds that it is not there, and does not tell which: "released" is all that is known. */
  async release(ref: LeaseRef, context: CallContext): Promise<ReleaseOutcome> {
    if (ref.token === undefined) throw ownerAlone("release");
    await this.#call(Core.method.release, { lease: refToWire(ref) }, context, true);
    return "released";
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #lasting(granted: BaseLease, sentAt: number): Lease {
    const ttl = Math.min(this.ttl, Math.floor(granted.expiry - sentAt));
    if (ttl >= MIN_TTL) return { ...granted, ttl };
    throw new LeaseCorruptError(`the driver's lease ended ${-ttl} ms ago by the clock of this host; it is not a grant`);
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageInitShape<I>,
    { signal }: CallContext,
    waitForReady = false,
  ): Promise<MessageShape<O>> {
    try {
      const request = create(method.input, message);
      return await this.#transport.unary(method, request, { timeout: this.#callTimeout, waitForReady, signal });
    } catch (error) {
      throw error instanceof TransportFailure ? leaseErrorOf(error) : error;
    }
  }
}

function ownerAlone(operation: string): LeaseUnsupportedError {
  return new LeaseUnsupportedError(`a base driver cannot ${operation} a hold by its owner alone`, { retryable: false });
}
