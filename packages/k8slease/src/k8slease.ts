/**
 * SessionLease in Lease objects of a Kubernetes API server: any number of processes on any number of nodes.
 *
 * The safety argument
 * -------------------
 * A session is one object. Every write names the `uid` and the `resourceVersion` that it was decided upon, and the server
 * refuses it unless both are still so; a first write creates, and fails if there is something. So of all that were decided
 * upon one state only one is applied, and the only question left is: when may somebody decide that a hold is over?
 *
 * Three clocks take part, and none of them is trusted for what another one shows.
 *
 * 1. *The holder counts from before it sent its last confirmed request*, on its own clocks, and stops one ttl later, less the
 *    port's margin (one percent and 2 ms, which pays for clocks that run at different rates, and for rounding).
 * 2. *The API server's clock decides expiry*, but nobody can read it. Each process keeps two bounds for it (`server-time.ts`).
 *    A holder writes `renewTime` by the *upper* bound, so that the expiry in the object is never before the server's clock at
 *    the sending plus the ttl. A rival calls the hold dead when its *lower* bound has reached that expiry, so that the
 *    server's clock has reached it, too. Between those two instants the server's clock advanced by the ttl or more; the
 *    holder has stopped. What a process does not know about the time (the second that `Date` cuts off, the round trip, its
 *    own clock stepped or suspended) makes its bounds wider, hence a takeover later. It is never added to a validity.
 * 3. *A holder whose upper bound was too low is told by the reply to its own write*: a `Date` above the bound proves it, and
 *    the write then counts as unconfirmed and is done again, with the time learnt. So it is after a machine was stopped with
 *    both its clocks, and when requests reach first one and then another API server.
 * 4. *Several API servers have several clocks.* A process that hears clocks which do not fit keeps bounds that hold for all.
 *    One that hears only one of them cannot know; so whoever takes over by the clock waits `serverSkew` more, and the
 *    second that a `Date` cuts off besides: 3 s in all, unless given otherwise, by which any two servers may differ.
 * 5. *A `Date` may be a proxy's.* Only replies with a Kubernetes body count. Before its first lease a process asks for an object to
 *    be made for show (`dryRun`): its creation timestamp is the server's own, in the body. If the `Date` beside it does not
 *    fit, there are several clocks for this process, and its lower bound stays with the earlier one.
 * 6. *Silence needs no clock of others at all.* Who has watched a hold stand still for its ttl, from the receipt of the first
 *    look, on the smaller of its two local clocks, may take over as well (`silence.ts`): the last renewal was sent before
 *    that look. It is what frees a record from 2099, and everything while the time cannot be agreed upon.
 *
 * Late messages. A write that was cut, delayed or answered into the void is applied, if ever, on the version it names: after
 * anybody else's write it is refused, and a deleted object is not brought back, for its uid is gone. Only a creation names
 * nothing: it can be applied late where an object was forgotten meanwhile. Its outcome was unknown to its caller, who does not
 * act on it; and a reply so late that this may have happened is not taken for a grant.
 *
 * Tokens are seeded by the upper bound, and an object is forgotten only when the lower bound is past its token and its expiry
 * by `forgetAfter`: the next token, which is at least the server's time, is higher.
 *
 * What it rests on: etcd compares resource versions truly, and never hands out one twice: who restores a backup of etcd does it
 * with a bumped revision, as its documentation says, or stops all holders first. Local clocks run at the server's rate to
 * within one percent. A server's clock that is stepped forward ends holds early, as for every authority; until their next
 * renewal, at most a ttl, their holders do not know.
 */

import {
  type Clock,
  casLease,
  DEFAULT_FORGET_AFTER,
  DEFAULT_TTL,
  type FullSessionLease,
  hostClock,
  LeaseInvalidError,
  MAX_TTL,
} from "@leasehold/session-lease";
import { type ClusterOptions, clientNodeApi } from "./client-node-api.js";
import { K8sStore } from "./k8s-store.js";
import type { LeaseApi } from "./lease-api.js";
import { LeaseCalls, type RequestNote } from "./lease-calls.js";
import { checkDomain } from "./object-name.js";
import { ServerTime } from "./server-time.js";
import { Silence } from "./silence.js";
import { TimedStore } from "./timed-store.js";

/** Ms. */
const DEFAULT_SERVER_SKEW = 2000;
const DEFAULT_REQUEST_TIMEOUT = 5000;
const DEFAULT_POLL_INTERVAL = 1000;
/** Requests in a row that a call may need: one of them may use up its time, and the call still ends with an answer. */
const REQUESTS_PER_CALL = 3;

export interface K8sLeaseOptions extends ClusterOptions {
  /** Separates installations in one namespace; 1 to 40 small letters, digits and hyphens. `default` unless given. */
  readonly domain?: string | undefined;
  /** Ms, for acquire without a ttl of its own; 30,000 unless given. */
  readonly ttl?: number | undefined;
  /** Ms for which a dead object is kept after its expiry and its token; 60,000 unless given. The same in all processes. */
  readonly forgetAfter?: number | undefined;
  /**
   * Ms by which a takeover by the clock waits longer, besides the second that a `Date` cuts off, so that several API servers
   * may differ by both. 2,000 unless given; 0: there is one clock, and neither is waited for.
   */
  readonly serverSkew?: number | undefined;
  /** Ms of watched silence after which any hold may be taken, whatever its ttl; 24 h unless given. Never below a ttl in use. */
  readonly maxSilence?: number | undefined;
  /** Ms after which a request is cut; 5,000 unless given. */
  readonly requestTimeout?: number | undefined;
  /** Ms between looks while somebody waits for a change; 1,000 unless given. */
  readonly pollInterval?: number | undefined;
  readonly clock?: Clock | undefined;
  /** What this process knows about the server's time, to be shared by leases on one API server. One of its own unless given. */
  readonly serverTime?: ServerTime | undefined;
  /** The calls on the API server; through `@kubernetes/client-node` unless given. */
  readonly api?: LeaseApi | undefined;
  /** Hears of every request when it was answered, or given up. Must not throw. */
  readonly onRequest?: ((note: RequestNote) => void) | undefined;
  /** From 0 up to, not including, 1; for jitter. */
  readonly random?: (() => number) | undefined;
}

/** Leases kept in a namespace. Nothing is read or asked for before the first call. Throws `LeaseInvalidError`. */
export function k8slease(options: K8sLeaseOptions = {}): FullSessionLease {
  const {
    domain = "default",
    ttl = DEFAULT_TTL,
    forgetAfter = DEFAULT_FORGET_AFTER,
    serverSkew = DEFAULT_SERVER_SKEW,
    maxSilence = MAX_TTL,
    requestTimeout = DEFAULT_REQUEST_TIMEOUT,
    pollInterval = DEFAULT_POLL_INTERVAL,
    clock = hostClock,
    random = Math.random,
    onRequest,
  } = options;
  checkDomain(domain);
  checkMs("serverSkew", serverSkew, 0);
  checkMs("maxSilence", maxSilence, ttl);
  checkMs("requestTimeout", requestTimeout, 1);
  checkMs("pollInterval", pollInterval, 1);

  const time = options.serverTime ?? new ServerTime(clock);
  const api = options.api ?? clientNodeApi(options);
  const calls = new LeaseCalls({ api, clock, time, requestTimeout, random, onRequest });
  const store = new K8sStore({ calls, clock, time, domain, pollInterval, random });
  const silence = new Silence(clock);
  const timed = new TimedStore({
    store,
    calls,
    clock,
    time,
    silence,
    domain,
    ttl,
    serverSkew,
    maxSilence,
    forgetAfter,
  });
  return casLease({
    name: "k8slease",
    load: (sessionId, context) => timed.load(sessionId, context),
    presume: (sessionId, context) => timed.presume(sessionId, context),
    swap: (sessionId, version, next, context) => timed.swap(sessionId, version, next, context),
    scan: (context) => timed.scan(context),
    watch: (sessionId, onChange) => timed.watch(sessionId, onChange),
    domain: (context) => timed.domain(context),
    close: () => timed.close(),
    clock: {
      wall: () => time.upper(),
      monotonic: () => clock.monotonic(),
      schedule: (callback, delayMs, timer) => clock.schedule(callback, delayMs, timer),
    },
    ttl,
    forgetAfter,
    timeout: requestTimeout * REQUESTS_PER_CALL,
    random,
  });
}

function checkMs(what: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new LeaseInvalidError(`${what} must be a whole number of milliseconds, ${least} or more, not ${String(value)}`);
}
