/**
 * The two streams of the protocol, whatever carries them.
 *
 * The order within each is what clients rely on: the lease is asked to watch first, and only then is the client told that it
 * is watched. What the client asks after that misses no change.
 */

import type { Duration } from "@bufbuild/protobuf/wkt";
import { LeaseUnavailableError, type SessionLease } from "@leasehold/session-lease";
import { withPower } from "./lease-service.js";
import type { RecentChanges } from "./recent-changes.js";
import { spanToWire } from "./wire.js";

/** A stream to a client. */
export interface Told<O> {
  /** False: the client does not read, and what is told now has to wait. */
  write(message: O): boolean;
}

/** Sessions told to a client that does not read, at most; beyond that it is cut off, and asks again. */
const MOST_WAITING = 1_000;

/** Resolves when the wait is over; rejects with an error of the port, or when the signal aborts. */
export async function tellOfChange(
  lease: SessionLease,
  sessionId: string,
  recent: RecentChanges,
  to: Told<{ changed: boolean; unchangedFor?: Duration }>,
  signal: AbortSignal,
): Promise<void> {
  const change = withPower(lease, "waitForChange").waitForChange(sessionId, { signal });
  to.write({ changed: false, unchangedFor: spanToWire(recent.unchangedFor(sessionId)) });
  await change;
  to.write({ changed: true });
}

/** Rejects when the signal aborts, which is how it ends, or with an error of the port. */
export function tellOfRequests(
  lease: SessionLease,
  to: Told<{ sessionId: string }>,
  signal: AbortSignal,
): Promise<never> {
  const power = withPower(lease, "requestRelease");
  return new Promise((_, reject) => {
    let waiting = 0;
    const end = (error: unknown): void => {
      stop?.();
      signal.removeEventListener("abort", onAbort);
      reject(error);
    };
    const onAbort = (): void => end(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const stop = power.watchRequests?.((sessionId) => {
      waiting = to.write({ sessionId }) ? 0 : waiting + 1;
      if (waiting > MOST_WAITING) end(new LeaseUnavailableError("the client does not read what it asked for"));
    });
    to.write({ sessionId: "" });
    if (signal.aborted) onAbort();
  });
}
