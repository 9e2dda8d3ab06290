/**
 * What a protected resource asks for instead of a bare token: evidence of one live hold.
 *
 * `check` is arithmetic on the holder's clock and catches what the holder can know. Only the resource can catch the
 * rest: it must compare owner and token at the authority, or the token with the highest it has seen, in the same atomic
 * step as the write. A proof dies with its hold and is never serialised.
 */
export interface Proof {
  readonly sessionId: string;
  readonly owner: string;
  readonly token: bigint;
  /** Throws when the hold is no longer valid, or not known to be, at this instant. */
  check(): void;
}
