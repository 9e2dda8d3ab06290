/**
 * Two servers that share a store must share a lock, or each would believe that it drives a session alone. A store remembers
 * the domain of the lease it is used with, and a domain lives in the lease's backend itself, whatever its address.
 */

import { type SessionLease, supports } from "@leasehold/session-lease";
import { LeaseDomainMismatchError, type SessionStore } from "@leasehold/session-store";
import { StartError } from "./usage-error.js";

/** The domain of a store that is used without leases. */
export const UNLEASED = "none";

/** Ties the store to the leases of the domain. Rejects with `StartError` naming both domains when it is tied to another. */
export async function tieStore(store: SessionStore, domain: string, force: boolean): Promise<void> {
  try {
    await store.adoptDomain(domain, { force });
  } catch (error) {
    if (!(error instanceof LeaseDomainMismatchError)) throw error;
    throw new StartError(
      `the store is used with the leases of domain ${show(error.stored)}, but this server's are of domain ${show(error.offered)}: ` +
        "two servers on one store would not exclude each other. Name the same lease backend as the others; " +
        "or stop them all and start with --adopt-store",
      { cause: error },
    );
  }
}

/** A backend that has no identity of its own, a driver of others, is known by its address alone. */
export async function domainOf(lease: SessionLease, url: string): Promise<string> {
  return supports(lease, "domain") ? await lease.domain() : url.replace(/\?.*/s, "");
}

const show = (domain: string): string => (domain === UNLEASED ? "none (unleased)" : domain);
