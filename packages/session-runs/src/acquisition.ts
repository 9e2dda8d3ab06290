/**
 * Getting the lease of one run.
 *
 * An acquire of unknown outcome may have been granted. The port follows it with one release of its owner; here it is followed
 * by one more try under a fresh owner, so that nothing late of the first can be taken for the second. If the ghost of the
 * first is still there, the second is refused as `held`: the session stays shut until its ttl has run out, never open to two.
 */

import { within } from "@leasehold/keeper";
import {
  type AcquireOptions,
  type Clock,
  findLeaseError,
  type Lease,
  LeaseUnknownOutcomeError,
  type Moment,
  momentOf,
  remainingValidity,
  type SessionLease,
} from "@leasehold/session-lease";
import { freshOwner } from "./holder.js";

/** Ms for the release of a grant that came too late. */
const COMPENSATION = 5_000;

export type Grant = Readonly<{
  lease: Lease;
  /** Just before the request was sent. */
  requestedAt: Moment;
}>;

export async function acquireFresh(
  port: SessionLease,
  sessionId: string,
  prefix: string,
  clock: Clock,
  options: AcquireOptions,
): Promise<Grant> {
  for (let last = false; ; last = true) {
    const owner = freshOwner(prefix);
    const requestedAt = momentOf(clock);
    try {
      const lease = await port.acquire(sessionId, owner, options);
      if (remainingValidity(requestedAt, lease.ttl, momentOf(clock)) > 0) return { lease, requestedAt };
      await giveBack(port, lease, clock);
      throw new LeaseUnknownOutcomeError("acquire was answered too late to be of use", { sessionId });
    } catch (error) {
      const found = findLeaseError(error);
      const again = found?.code === "unknown-outcome" && found.retryable && options.signal?.aborted !== true;
      if (last || !again) throw error;
    }
  }
}

/** Once, and quietly: if it fails the ttl decides. */
async function giveBack(port: SessionLease, lease: Lease, clock: Clock): Promise<void> {
  await within(clock, COMPENSATION, "release", (signal) => port.release(lease, { signal })).catch(() => undefined);
}
