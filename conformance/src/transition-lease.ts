/**
 * The pure `transition` with a map around it: the least that can be called a lease. What the vectors are played on, so
 * that they judge the function itself and nothing around it.
 */

import {
  ALL_CAPABILITIES,
  type Command,
  compareBytes,
  createLease,
  type FullSessionLease,
  isLive,
  type Lease,
  LeaseHeldError,
  LeaseInvalidError,
  type LeaseRecord,
  leaseInfoOf,
  leaseOf,
  type Outcome,
  transition,
} from "@leasehold/session-lease";
import type { FakeClock } from "./fake-clock.js";

/** One process, one map, nothing forgotten, no waiting. */
export function transitionLease({ clock, ttl }: { clock: FakeClock; ttl: number }): FullSessionLease {
  const records = new Map<string, LeaseRecord>();

  function apply<C extends Command>(sessionId: string, command: C): Outcome<C> {
    const { outcome, next } = transition(records.get(sessionId), command, clock.wall());
    if (next !== undefined) records.set(sessionId, next);
    return outcome;
  }
  function grant(sessionId: string, outcome: Outcome): Lease {
    if (outcome.kind === "granted") return leaseOf(sessionId, outcome.record);
    if (outcome.kind === "held") throw new LeaseHeldError("held", { retryAfterMs: outcome.retryAfterMs });
    if (outcome.kind === "refused") throw new LeaseHeldError("lost", { reason: outcome.reason });
    throw new LeaseInvalidError("the tokens are used up");
  }

  return createLease({
    name: "transition",
    capabilities: { ...ALL_CAPABILITIES, waitForChange: false, domain: false },
    ttl,
    clock,
    acquire: ({ sessionId, owner, ttl, metadata, above }) =>
      grant(sessionId, apply(sessionId, { op: "acquire", owner, ttl, metadata, above })),
    renew: ({ sessionId, owner, token, ttl, reclaimExpired }) =>
      grant(sessionId, apply(sessionId, { op: "renew", owner, token, ttl, reclaimExpired })),
    transfer: ({ sessionId, owner, token, newOwner, ttl }) =>
      grant(sessionId, apply(sessionId, { op: "transfer", owner, token, newOwner, ttl })),
    release: ({ sessionId, owner, token }) => apply(sessionId, { op: "release", owner, token }).kind,
    forceRelease: ({ sessionId, ...note }) => apply(sessionId, { op: "force-release", ...note }).kind === "done",
    requestRelease: ({ sessionId, ...note }) => apply(sessionId, { op: "request-release", ...note }).kind === "done",
    inspect: (sessionId) => {
      const record = records.get(sessionId);
      return record !== undefined && isLive(record, clock.wall()) ? leaseInfoOf(sessionId, record) : undefined;
    },
    list: ({ after, limit }) => {
      const live = [...records]
        .filter(([id, record]) => isLive(record, clock.wall()) && (after === undefined || compareBytes(id, after) > 0))
        .sort(([a], [b]) => compareBytes(a, b))
        .map(([id, record]) => leaseInfoOf(id, record));
      const leases = live.slice(0, limit);
      const last = leases.at(-1);
      return live.length > limit && last !== undefined ? { leases, next: last.sessionId } : { leases };
    },
  });
}
