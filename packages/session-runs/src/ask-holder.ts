/**
 * Asking whoever holds a session, in whatever process, to let go.
 *
 * Why a late request cannot stop the next run: it names the token of the hold that was just seen, the authority compares
 * that in the step that stores it, and a release or takeover clears what was stored.
 */

import { LeaseUnsupportedError, type SessionLease, supports } from "@leasehold/session-lease";

/** `reason` of the requests that this package makes: what a holder may tell its user. */
export const REQUEST_REASON = { cancel: "cancelled", interrupt: "interrupted" } as const;

export interface HolderRequest {
  readonly by: string;
  readonly reason: string;
  /** Only the run of this id. */
  readonly runId?: string | undefined;
  /** Not this hold: it has been asked before. */
  readonly butNot?: bigint | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Whether holders can be asked at all: the backend must show which hold there is, and take a request for that one. */
export function canAsk(lease: SessionLease): boolean {
  const { inspect, requestRelease } = lease.capabilities;
  return inspect && requestRelease;
}

/**
 * The token of the hold that was asked; undefined if there is none, or not the one that is meant, or if its process is proved
 * to be gone, so that nobody is left to be asked. Throws `LeaseUnsupportedError` where nobody can be asked, or run ids cannot
 * be compared.
 */
export async function askHolder(
  lease: SessionLease,
  sessionId: string,
  { by, reason, runId, butNot, signal }: HolderRequest,
): Promise<bigint | undefined> {
  if (!supports(lease, "inspect") || !supports(lease, "requestRelease")) {
    throw unsupported(`${lease.name} cannot ask a holder to let go`);
  }
  if (runId !== undefined && !lease.capabilities.metadata) {
    throw unsupported(`${lease.name} does not tell which run holds a session`);
  }
  const hold = await lease.inspect(sessionId, { signal });
  if (hold === undefined || hold.holderGone === true || hold.token === butNot) return undefined;
  const { runId: holding } = hold.metadata;
  if (runId !== undefined && holding !== runId) return undefined;
  const asked = await lease.requestRelease(sessionId, { expectedToken: hold.token, by, reason, signal });
  return asked ? hold.token : undefined;
}

function unsupported(message: string): LeaseUnsupportedError {
  return new LeaseUnsupportedError(message, { operation: "requestRelease", retryable: false });
}
