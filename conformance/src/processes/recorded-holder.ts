import {
  forwardLease,
  isLeaseHeld,
  type Lease,
  type LeaseRef,
  type SessionLease,
  validityMargin,
} from "@leasehold/session-lease";
import type { Recorder } from "../judge/recorder.js";

/**
 * The same lease with its calls written down, and what whoever calls it may believe by the rules: from a grant, until its ttl,
 * less the margin, is over since before it was asked for. A belief ends when its release is asked for or its loss is told.
 */
export function recordedHolder<L extends SessionLease>(inner: L, recorder: Recorder): L {
  const cease = ({ sessionId, owner, token }: LeaseRef): void => {
    if (token !== undefined) recorder.cease({ sessionId, owner, token });
  };
  // Who is told of a loss ceases before that answer counts as given, and believes only after a grant counts as given.
  const losing = forwardLease<L>(inner, {
    renew: async (ref, options) => {
      try {
        return await inner.renew(ref, options);
      } catch (error) {
        if (isLeaseHeld(error)) cease(ref);
        throw error;
      }
    },
  });
  const lease = recorder.lease(losing);
  const believing = async (ask: () => Promise<Lease>): Promise<Lease> => {
    const sent = recorder.now();
    const held = await ask();
    recorder.believe(held, sent + held.ttl - validityMargin(held.ttl));
    return held;
  };
  return forwardLease<L>(lease, {
    acquire: (sessionId, owner, options) => believing(() => lease.acquire(sessionId, owner, options)),
    renew: (ref, options) => believing(() => lease.renew(ref, options)),
    release: (ref, options) => {
      cease(ref);
      return lease.release(ref, options);
    },
  });
}
