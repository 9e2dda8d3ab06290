/**
 * SessionLease over gRPC: the client of a lease server on another machine, or behind a socket of this one.
 *
 * The safety argument
 * -------------------
 * The server is the authority, or stands before it: it decides, in one atomic step, with its own clock. The client decides
 * nothing, remembers nothing, and holds nothing that could be stale: every call is one request, every answer is checked
 * and handed on. What has to be argued is what a client may conclude when the network between them fails.
 *
 * 1. *Who can still act.* A holder acts for the ttl of its last confirmed request, counted on its own clock from before
 *    that request was handed to this client, less the margin of the port. The server counts from when it applied the
 *    request, which is later. So a holder stops before anybody else is let in, however long the request was on its way, in
 *    a queue for a connection, or at the gate of a wait. The expiry in the answer is never compared with a clock here, but
 *    for base drivers, which tell nothing else (`base-driver.ts`).
 * 2. *On what evidence.* Only an answer that fits is a grant: same session, same owner, a token of 1 to 2^63-1, unchanged
 *    by renewal, with an expiry and a ttl. Anything else is `corrupt`, and what it may have granted is given back.
 * 3. *A lost answer.* A status that comes without a `LeaseFailure` was not given by the server's lease. If the request was
 *    never handed to a connection, nothing has happened: `unavailable`. Otherwise it may have been applied, now or later:
 *    `unknown-outcome`. UNAVAILABLE and CANCELLED say nothing against that, nor does a deadline that has passed.
 *    A reading has no outcome and is `unavailable` either way.
 * 4. *What is unknown is treated as what is worst.* An acquire of unknown outcome is followed by one release of its owner,
 *    which is fresh for every attempt: if the grant had been made it is undone, and it can touch no other. It may overtake
 *    the acquire, which then grants to nobody; the ttl ends that. A renewal of unknown outcome extends nothing here, and if
 *    it asked for a shorter ttl, the keeper counts with that.
 * 5. *Late messages.* A request that reaches the server late is judged there, by owner and token, as any other: a renewal
 *    or a release after a takeover finds another owner, a renewal after a release finds no hold. A late acquire is the case
 *    above. A late answer finds a call that was given up, and is dropped; if it is a grant, the port gives it back.
 * 6. *Nothing is sent twice.* Retries of grpc-js are off, with those that a resolver could ask for. A renewal or release waits
 *    for a connection instead of failing at once, and that sends nothing: it is sent once there is one, within its deadline,
 *    or never. Acquire is idempotent for its owner all the same, so a proxy that repeats it does no harm.
 * 7. *Every call ends.* Each has a deadline, told to the server, which does not run what comes too late. A connection on
 *    which a call went unanswered while nothing else was heard is replaced, since the system may take minutes to notice
 *    that it is dead, and the next renewal cannot wait for that.
 *
 * What it rests on: the two clocks run at the same rate to within one percent, and the server is one authority. Two servers
 * over two stores exclude nobody from each other; `domain` tells them apart.
 */

import { create } from "@bufbuild/protobuf";
import {
  type Clock,
  createLease,
  DEFAULT_TTL,
  type FullSessionLease,
  findLeaseError,
  hostClock,
  LeaseInvalidError,
  MAX_TTL,
  MIN_TTL,
} from "@leasehold/session-lease";
import {
  DescribeRequestSchema,
  SessionLeasePowersService,
} from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import { openBaseDriver } from "./base-driver.js";
import { openClientToken } from "./client-token.js";
import { leaseErrorOf } from "./failures.js";
import { grpcTransport } from "./grpc-transport.js";
import { type DriverParts, remoteDriver } from "./remote-driver.js";
import { parseTarget } from "./target.js";
import { type ClientTls, secureContextOf } from "./tls.js";
import { Status, type Transport, TransportFailure } from "./transport.js";

/** Ms for a call, unless the ttl asks for less. */
const DEFAULT_TIMEOUT = 5_000;
const MIN_TIMEOUT = 10;
const MAX_TIMEOUT = 60_000;

export interface GrpcDriverOptions {
  /** "HOST:PORT", "[::1]:7777" or "unix:/run/leased.sock". */
  readonly target: string;
  /** How to speak TLS; `{}` trusts the well-known authorities. Absent: cleartext, which is refused beyond this machine. */
  readonly tls?: ClientTls | undefined;
  /** Path of a file with the bearer token to show; looked at again before every call, once a second at most. */
  readonly tokenFile?: string | undefined;
  /**
   * Ms from 10 to 86,400,000, for acquire without a ttl of its own; 30 s unless given. A driver of the base protocol has one
   * ttl for everybody, and this must be it.
   */
  readonly ttl?: number | undefined;
  /** Ms from 10 to 60,000 for each call; 5 s unless given, or a third of the ttl if that is less. */
  readonly timeout?: number | undefined;
  readonly clock?: Clock | undefined;
  /** gRPC to `target`, unless given: for simulators and fault tests. */
  readonly transport?: Transport | undefined;
}

/**
 * Connects to a lease server and asks it once what it can do; the capabilities of the lease are those of its backend. A
 * driver of the base protocol is recognised, and gets a lease that declares none.
 *
 * Rejects with `LeaseInvalidError` for options that make no sense, for cleartext to another machine (before anything is
 * sent), and for a base driver whose ttl is not the one told; with `unavailable` or `denied` when the server cannot be asked.
 */
export async function grpcdriver(options: GrpcDriverOptions): Promise<FullSessionLease> {
  const { ttl = DEFAULT_TTL, clock = hostClock } = options;
  checkMs("ttl", ttl, MIN_TTL, MAX_TTL);
  const timeout = options.timeout ?? Math.max(MIN_TIMEOUT, Math.min(DEFAULT_TIMEOUT, Math.floor(ttl / 3)));
  checkMs("timeout", timeout, MIN_TIMEOUT, MAX_TIMEOUT);
  const transport = options.transport ?? (await connect(options, ttl, clock));
  const parts: DriverParts = { transport, clock, ttl, timeout };
  try {
    const announced = await describe(parts);
    return createLease(announced === undefined ? await openBaseDriver(parts) : remoteDriver(parts, announced));
  } catch (error) {
    await transport.close();
    throw told(error);
  }
}

async function connect({ target, tls, tokenFile }: GrpcDriverOptions, ttl: number, clock: Clock): Promise<Transport> {
  const place = parseTarget(target);
  if (tls === undefined && !place.local) {
    throw new LeaseInvalidError(
      `${place.text} is not on this machine, and without TLS everybody on the way could read and forge leases: set tls`,
    );
  }
  const context = tls === undefined ? undefined : secureContextOf(tls);
  const token = tokenFile === undefined ? undefined : await openClientToken(tokenFile, clock);
  return grpcTransport({ target: place, tls: context, ttl, clock, token });
}

/** What the server says it can do; undefined when it is a driver of the base protocol. */
async function describe({ transport, timeout }: DriverParts): Promise<readonly string[] | undefined> {
  try {
    const request = create(DescribeRequestSchema);
    return (await transport.unary(SessionLeasePowersService.method.describe, request, { timeout })).capabilities;
  } catch (error) {
    if (!(error instanceof TransportFailure)) throw error;
    if (error.status === Status.UNIMPLEMENTED && error.detail === undefined) return undefined;
    throw leaseErrorOf(error, false);
  }
}

function told(error: unknown): unknown {
  const found = findLeaseError(error);
  if (found !== undefined && found.operation === undefined) Object.assign(found, { operation: "connect" });
  return error;
}

function checkMs(what: string, value: unknown, least: number, most: number): void {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return;
  throw new LeaseInvalidError(
    `${what} must be a whole number of milliseconds from ${least} to ${most}, not ${String(value)}`,
  );
}
