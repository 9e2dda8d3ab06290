import { LeaseError, type LeaseErrorOptions, LeaseHeldError, type LossReason } from "@leasehold/session-lease";

/**
 * The hold is over: nothing may be done in its name any more. `code` is `held`, as for every loss, and `reason` says how;
 * `cause` is the authority's own answer where there was one.
 */
export class LeaseLostError extends LeaseHeldError {
  override readonly name: string = "LeaseLostError";
  declare readonly reason: LossReason;

  constructor(reason: LossReason, options: LeaseErrorOptions & { readonly message?: string | undefined } = {}) {
    const { message = LOSS[reason], ...rest } = options;
    super(message, { ...rest, reason, retryable: false });
  }
}

const LOSS: Readonly<Record<LossReason, string>> = {
  expired: "the lease was lost: it ran out before a renewal was confirmed",
  taken: "the lease was lost: the session is held by another owner",
  released: "the lease was lost: it has been released",
  forced: "the lease was lost: it was broken by force",
  deleted: "the lease was lost: its record is gone",
};

/**
 * Validity ran out while nobody was looking, and the authority is being asked whether the hold still stands. Nothing may be
 * done meanwhile; within five seconds it is held again or lost. `code` is `unavailable`.
 */
export class LeaseInDoubtError extends LeaseError {
  override readonly name: string = "LeaseInDoubtError";

  constructor(sessionId: string) {
    super("unavailable", "the lease is in doubt: it waits for the authority to confirm it", { sessionId });
  }
}
