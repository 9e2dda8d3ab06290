/** Who may do what with a lease server, and what of an owner is shown to whom. */

import { LeaseDeniedError, type LeaseInfo, type MaybePromise } from "@leasehold/session-lease";

/** What a caller can be allowed to do, one word for each operation; `describe` and `domain` are everybody's who is let in. */
export const OPERATIONS = [
  "acquire",
  "renew",
  "release",
  "transfer",
  "inspect",
  "list",
  "wait",
  "watch-requests",
  "request-release",
  "force-release",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a caller that was let in may see. */
export interface Admission {
  /** Owners in full. Whoever knows the owner of a hold can release it. */
  readonly seesOwners: boolean;
}

export interface Access {
  /**
   * Judges one call by its `authorization` header. `operation` is undefined for what everybody may who is let in. Rejects, or
   * throws, with `AccessDeniedError`.
   */
  admit(operation: Operation | undefined, authorization: string | undefined): MaybePromise<Admission>;
}

/** A caller without a token that counts (`unauthenticated`), or one whose token does not allow the operation. */
export class AccessDeniedError extends LeaseDeniedError {
  override readonly name: string = "AccessDeniedError";
  readonly unauthenticated: boolean;

  constructor(message: string, { unauthenticated }: { unauthenticated: boolean }) {
    super(message, { retryable: false });
    this.unauthenticated = unauthenticated;
  }
}

/** Everybody who reaches the server may do everything. */
export const OPEN_ACCESS: Access = { admit: () => ({ seesOwners: true }) };

/** Random digits at the end of an owner, or a UUID: what makes it unique, and a secret. */
const SECRET = /[-:/_]?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,})$/i;

/** The readable beginning of an owner; three dots stand for what is not shown. */
export function readablePart(owner: string): string {
  return SECRET.test(owner) ? `${owner.replace(SECRET, "")}...` : "...";
}

/** The hold as somebody sees it who may not see owners in full. */
export function withoutOwner(info: LeaseInfo): LeaseInfo {
  return { ...info, owner: readablePart(info.owner) };
}
