/**
 * A lease server that knows the whole protocol, as a driver of the port: one request for each call. It names no timeout to
 * the port, since the transport ends every call at its deadline, and knows then what the port could not: whether it was sent.
 */

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AcquireRequest,
  ALL_CAPABILITIES,
  type CallContext,
  type Capabilities,
  type Capability,
  type Clock,
  type Lease,
  LeaseCorruptError,
  type LeaseDriver,
  type LeaseInfo,
  type LeasePage,
  type LeaseRef,
  type ReleaseNote,
  type ReleaseOutcome,
  type RenewRequest,
  type TransferRequest,
} from "@leasehold/session-lease";
import { SessionLeasePowersService as Powers } from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import { SessionLeaseService as Core } from "../gen/mecatl/driver/v1/session_lease_pb.js";
import { ChangeWatches } from "./change-watches.js";
import { leaseErrorOf } from "./failures.js";
import { RequestWatch } from "./request-watch.js";
import { type Transport, TransportFailure } from "./transport.js";
import { holdFromWire, leaseFromWire, metadataToWire, outcomeFromWire, refToWire } from "./wire.js";

/** What a server announces beside the port's capabilities: requests to let go can be watched. */
export const WATCH_REQUESTS = "watchRequests";

export interface DriverParts {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Ms, for acquire without a ttl of its own. */
  readonly ttl: number;
  /** Ms for each call. */
  readonly timeout: number;
}

/** Ms at most for the release of an attempt that never learnt its token: its caller waits for it to be told the outcome. */
const GIVING_BACK = 1_000;

type Manner = Readonly<{ waitForReady?: boolean; looks?: boolean; atMost?: number }>;
/** What only looks changes nothing: an answer that is lost leaves no outcome unknown. */
const LOOKS: Manner = { looks: true };
/** A holder has nothing better to do than to wait for a connection, and nothing is sent twice. */
const PATIENT: Manner = { waitForReady: true };

/** `announced`: the names that the server gives its capabilities. One that is not known here is left out. */
export function remoteDriver(parts: DriverParts, announced: readonly string[]): LeaseDriver {
  return new RemoteDriver(parts, new Set(announced));
}

class RemoteDriver implements LeaseDriver {
  readonly name = "grpcdriver";
  readonly capabilities: Capabilities;
  readonly ttl: number;
  readonly clock: Clock;
  readonly inspect?: NonNullable<LeaseDriver["inspect"]>;
  readonly list?: NonNullable<LeaseDriver["list"]>;
  readonly transfer?: NonNullable<LeaseDriver["transfer"]>;
  readonly forceRelease?: NonNullable<LeaseDriver["forceRelease"]>;
  readonly requestRelease?: NonNullable<LeaseDriver["requestRelease"]>;
  readonly watchRequests?: NonNullable<LeaseDriver["watchRequests"]>;
  readonly waitForChange?: NonNullable<LeaseDriver["waitForChange"]>;
  readonly domain?: NonNullable<LeaseDriver["domain"]>;
  readonly #transport: Transport;
  readonly #callTimeout: number;
  readonly #changes: ChangeWatches;
  readonly #requests: RequestWatch;

  constructor({ transport, clock, ttl, timeout }: DriverParts, announced: ReadonlySet<string>) {
    this.#transport = transport;
    this.#callTimeout = timeout;
    this.#changes = new ChangeWatches(transport, clock);
    this.#requests = new RequestWatch(transport, clock);
    this.ttl = ttl;
    this.clock = clock;
    const can = (capability: Capability): boolean => announced.has(capability);
    this.capabilities = Object.fromEntries(
      (Object.keys(ALL_CAPABILITIES) as Capability[]).map((capability) => [capability, can(capability)]),
    ) as Record<Capability, boolean>;
    if (can("inspect")) this.inspect = this.#inspect;
    if (can("list")) this.list = this.#list;
    if (can("transfer")) this.transfer = this.#transfer;
    if (can("forceRelease")) this.forceRelease = this.#forceRelease;
    if (can("requestRelease")) this.requestRelease = this.#requestRelease;
    if (can("waitForChange")) this.waitForChange = (sessionId, signal) => this.#changes.wait(sessionId, signal);
    if (can("domain")) this.domain = this.#domain;
    if (can("requestRelease") && announced.has(WATCH_REQUESTS)) {
      this.watchRequests = (onRequest) => this.#requests.listen(onRequest);
    }
  }

  async acquire(request: AcquireRequest, context: CallContext): Promise<Lease> {
    const { sessionId, owner, ttl, metadata, above = 0n } = request;
    const reply = await this.#gated(Core.method.acquire, sessionId, context, {
      sessionId,
      owner,
      ttl: durationFromMs(ttl),
      above,
      ...(metadata && { metadata: metadataToWire(metadata) }),
    });
    try {
      return leaseFromWire(reply.lease, { sessionId, owner });
    } catch (error) {
      // Whatever the server meant, the caller will not hold it.
      await this.release({ sessionId, owner }, {}).catch(() => undefined);
      throw error;
    }
  }

  async renew(request: RenewRequest, context: CallContext): Promise<Lease> {
    const { sessionId, owner, token, ttl, reclaimExpired } = request;
    this.#changes.pass(sessionId);
    const message = {
      lease: refToWire(request),
      reclaimExpired,
      byOwner: token === undefined,
      ...(ttl !== undefined && { ttl: durationFromMs(ttl) }),
    };
    const reply = await this.#call(Core.method.renew, message, context, PATIENT);
    return leaseFromWire(reply.lease, { sessionId, owner, token });
  }

  async release(ref: LeaseRef, context: CallContext): Promise<ReleaseOutcome> {
    const message = { lease: refToWire(ref), byOwner: ref.token === undefined };
    const manner = ref.token === undefined ? { ...PATIENT, atMost: GIVING_BACK } : PATIENT;
    const { outcome } = await this.#gated(Core.method.release, ref.sessionId, context, message, manner);
    const told = outcomeFromWire(outcome);
    if (told === undefined) throw new LeaseCorruptError("the driver does not tell what its release did");
    return told;
  }

  async #inspect(sessionId: string, context: CallContext): Promise<LeaseInfo | undefined> {
    const { hold } = await this.#gated(Powers.method.inspect, sessionId, context, { sessionId }, LOOKS);
    return hold && holdFromWire(hold, sessionId);
  }

  async #list({ after = "", limit }: { after?: string; limit: number }, context: CallContext): Promise<LeasePage> {
    const { holds, next } = await this.#call(Powers.method.list, { after, limit }, context, LOOKS);
    const leases = holds.map((hold) => holdFromWire(hold));
    return next === "" ? { leases } : { leases, next };
  }

  async #transfer(request: TransferRequest, context: CallContext): Promise<Lease> {
    const { sessionId, token, newOwner, ttl } = request;
    const reply = await this.#gated(Powers.method.transfer, sessionId, context, {
      lease: refToWire(request),
      newOwner,
      byOwner: token === undefined,
      ...(ttl !== undefined && { ttl: durationFromMs(ttl) }),
    });
    const lease = leaseFromWire(reply.lease, { sessionId, owner: newOwner });
    if (token !== undefined && lease.token <= token) {
      throw new LeaseCorruptError("the driver transferred the session without a higher token");
    }
    return lease;
  }

  async #forceRelease(note: ReleaseNote, context: CallContext): Promise<boolean> {
    return (await this.#gated(Powers.method.forceRelease, note.sessionId, context, note)).released;
  }

  async #requestRelease(note: ReleaseNote, context: CallContext): Promise<boolean> {
    return (await this.#gated(Powers.method.requestRelease, note.sessionId, context, note)).asked;
  }

  async #domain(context: CallContext): Promise<string> {
    const { domain } = await this.#call(Powers.method.getDomain, {}, context, LOOKS);
    if (domain === "") throw new LeaseCorruptError("the driver tells an empty domain");
    return domain;
  }

  async close(): Promise<void> {
    this.#requests.close();
    await this.#transport.close();
  }

  /** Sent once no wait for the session is being armed. */
  async #gated<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    sessionId: string,
    context: CallContext,
    message: MessageInitShape<I>,
    manner?: Manner,
  ): Promise<MessageShape<O>> {
    await this.#changes.gate(sessionId, context.signal);
    return this.#call(method, message, context, manner);
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageInitShape<I>,
    { signal }: CallContext,
    { waitForReady = false, looks = false, atMost = Number.POSITIVE_INFINITY }: Manner = {},
  ): Promise<MessageShape<O>> {
    try {
      const request = create(method.input, message);
      const timeout = Math.min(this.#callTimeout, atMost);
      return await this.#transport.unary(method, request, { timeout, waitForReady, signal });
    } catch (error) {
      if (!(error instanceof TransportFailure)) throw error;
      throw leaseErrorOf(error, looks ? false : error.sent);
    }
  }
}
