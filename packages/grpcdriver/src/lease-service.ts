/**
 * Serves any lease to clients elsewhere: what each call of the protocol does, whatever carries it (`lease-server.ts` is gRPC).
 *
 * A message is turned into the arguments of the port, the lease validates and decides, and its answer or its error is turned
 * into a message, once and in one place. Nothing is remembered between two calls, so a server may be stopped and started
 * as long as its backend lives.
 *
 * The tie of a lease to its process is not served: this process is not the one whose life counts.
 */

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type CallOptions,
  type Capability,
  type Lease,
  type LeaseInfo,
  LeaseInvalidError,
  type LeaseRef,
  LeaseUnsupportedError,
  type Power,
  type Powers,
  type SessionLease,
  supports,
} from "@leasehold/session-lease";
import {
  type Hold,
  HoldSchema,
  SessionLeasePowersService as PowersService,
} from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import { SessionLeaseService as Core, type Lease as WireLease } from "../gen/mecatl/driver/v1/session_lease_pb.js";
import { type Admission, type Operation, readablePart, withoutOwner } from "./access.js";
import type { RecentChanges } from "./recent-changes.js";
import { WATCH_REQUESTS } from "./remote-driver.js";
import { holdToWire, leaseToWire, metadataFromWire, msOf, outcomeToWire } from "./wire.js";

/** Bytes of the holds in one page at most; a client takes 4 MiB. A page of 250 of the largest fits in any case. */
const PAGE_BYTES = 3_000_000;
const SURE_TO_FIT = 250;

/** One call, as far as it concerns the lease. */
export interface ServedCall {
  /** Aborted when the client has gone or its deadline has passed. */
  readonly signal: AbortSignal;
  readonly admission: Admission;
}

export interface UnaryRoute<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly method: DescMethodUnary<I, O>;
  /** Undefined: everybody may who is let in. */
  readonly operation: Operation | undefined;
  /** Rejects, or throws, with an error of the port. */
  run(request: MessageShape<I>, call: ServedCall): Promise<MessageInitShape<O>>;
}

/** Keeps the types of a route together until they are no longer needed. */
function route<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  operation: Operation | undefined,
  run: UnaryRoute<I, O>["run"],
): UnaryRoute {
  return { method, operation, run } as unknown as UnaryRoute;
}

/** Every call with one answer. */
export function unaryRoutes(lease: SessionLease, recent: RecentChanges): readonly UnaryRoute[] {
  const granted = (lease: Lease, { admission }: ServedCall): WireLease => {
    recent.granted(lease);
    return leaseToWire(admission.seesOwners ? lease : withoutPreviousOwner(lease));
  };
  return [
    route(Core.method.acquire, "acquire", async ({ sessionId, owner, ttl, metadata, above }, call) => {
      const options = {
        ttl: spanOf(ttl),
        metadata: metadataFromWire(metadata),
        above: above === 0n ? undefined : above,
      };
      return { lease: granted(await lease.acquire(sessionId, owner, { ...options, ...until(call) }), call) };
    }),
    route(Core.method.renew, "renew", async ({ lease: held, byOwner, ttl, reclaimExpired }, call) => {
      const options = { ttl: spanOf(ttl), reclaimExpired, ...until(call) };
      return { lease: granted(await lease.renew(refOf(held, byOwner), options), call) };
    }),
    route(Core.method.release, "release", async ({ lease: held, byOwner }, call) => {
      const ref = refOf(held, byOwner);
      const outcome = await lease.release(ref, until(call));
      if (outcome === "released") recent.freed(ref.sessionId);
      return { outcome: outcomeToWire(outcome) };
    }),
    route(PowersService.method.describe, undefined, async () => ({
      backend: lease.name,
      capabilities: capabilitiesOf(lease),
    })),
    route(PowersService.method.inspect, "inspect", async ({ sessionId }, call) => {
      const info = await withPower(lease, "inspect").inspect(sessionId, until(call));
      return info === undefined ? {} : { hold: shown(info, call) };
    }),
    route(PowersService.method.list, "list", async ({ after, limit }, call) => {
      const asked = { ...(after !== "" && { after }), ...(limit !== 0 && { limit }) };
      const { leases, next = "" } = await withPower(lease, "list").list({ ...asked, ...until(call) });
      return pageOf(
        leases.map((info) => shown(info, call)),
        next,
      );
    }),
    route(PowersService.method.transfer, "transfer", async ({ lease: held, newOwner, ttl, byOwner }, call) => {
      const options = { ttl: spanOf(ttl), ...until(call) };
      const power = withPower(lease, "transfer");
      return { lease: granted(await power.transfer(refOf(held, byOwner), newOwner, options), call) };
    }),
    route(PowersService.method.forceRelease, "force-release", async (note, call) => {
      const options = { ...noteOf(note), ...until(call) };
      const released = await withPower(lease, "forceRelease").forceRelease(note.sessionId, options);
      if (released) recent.freed(note.sessionId);
      return { released };
    }),
    route(PowersService.method.requestRelease, "request-release", async (note, call) => {
      const options = { ...noteOf(note), ...until(call) };
      const asked = await withPower(lease, "requestRelease").requestRelease(note.sessionId, options);
      if (asked) recent.marked(note.sessionId);
      return { asked };
    }),
    route(PowersService.method.getDomain, undefined, async (_, call) => ({
      domain: await withPower(lease, "domain").domain(until(call)),
    })),
  ];
}

/** The lease, seen with a power. Throws `LeaseUnsupportedError` when it has none. */
export function withPower<P extends Power>(lease: SessionLease, power: P): SessionLease & Powers[P] {
  if (supports(lease, power)) return lease;
  throw new LeaseUnsupportedError(`${lease.name} cannot ${power}`, { retryable: false });
}

function capabilitiesOf(lease: SessionLease): string[] {
  const declared = (Object.keys(lease.capabilities) as Capability[]).filter((name) => lease.capabilities[name]);
  const watches = supports(lease, "requestRelease") && lease.watchRequests !== undefined;
  return watches ? [...declared, WATCH_REQUESTS] : declared;
}

const until = ({ signal }: ServedCall): CallOptions => ({ signal });

function refOf(held: WireLease | undefined, byOwner: boolean): LeaseRef {
  if (held === undefined) throw new LeaseInvalidError("the request has no lease in it");
  const { sessionId, owner, token } = held;
  if (!byOwner) return { sessionId, owner, token };
  if (token !== 0n) throw new LeaseInvalidError("a hold is named by its owner alone or with its token, not both");
  return { sessionId, owner };
}

function spanOf(ttl: Parameters<typeof msOf>[0]): number | undefined {
  if (ttl === undefined) return undefined;
  const ms = msOf(ttl);
  if (ms === undefined) throw new LeaseInvalidError("ttl must be a whole number of milliseconds");
  return ms;
}

function noteOf({ expectedToken, by, reason }: { expectedToken: bigint; by: string; reason: string }) {
  return {
    ...(expectedToken !== 0n && { expectedToken }),
    ...(by !== "" && { by }),
    ...(reason !== "" && { reason }),
  };
}

function withoutPreviousOwner(lease: Lease): Lease {
  const { previous } = lease;
  return previous === undefined ? lease : { ...lease, previous: { ...previous, owner: readablePart(previous.owner) } };
}

function shown(info: LeaseInfo, { admission }: ServedCall): Hold {
  return holdToWire(admission.seesOwners ? info : withoutOwner(info));
}

/** As many holds as fit. */
function pageOf(holds: readonly Hold[], next: string): { holds: Hold[]; next: string } {
  if (holds.length <= SURE_TO_FIT) return { holds: [...holds], next };
  let bytes = 0;
  const fit = holds.findIndex((hold) => {
    bytes += toBinary(HoldSchema, hold).byteLength;
    return bytes > PAGE_BYTES;
  });
  if (fit < 0) return { holds: [...holds], next };
  const kept = holds.slice(0, fit);
  return { holds: kept, next: kept.at(-1)?.lease?.sessionId ?? next };
}

/** The message that a route answers with. */
export function replyOf(route: UnaryRoute, reply: MessageInitShape<DescMessage>): MessageShape<DescMessage> {
  return create(route.method.output, reply);
}
