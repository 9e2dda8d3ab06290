/**
 * What a lease can do beyond the core, as data with one home: the adapter publishes it, the exam reads it, the table in
 * the docs is printed from it, and a wrapper must forward it.
 */

import type { Powers, SessionLease } from "./lease.js";

/** Optional powers: methods that a lease may lack. */
export const POWERS = [
  "inspect",
  "list",
  "transfer",
  "forceRelease",
  "requestRelease",
  "waitForChange",
  "domain",
] as const;

/** How much of the core a foreign backend can tell. Every adapter of this project has all of them unless its page says why not. */
export const CORE_TRUTHS = ["ttl", "reasons", "releaseOutcome", "metadata", "releaseByOwner"] as const;

export type Power = (typeof POWERS)[number] & keyof Powers;
export type CoreTruth = (typeof CORE_TRUTHS)[number];
export type Capability = Power | CoreTruth;
export type Capabilities = Readonly<Record<Capability, boolean>>;

/** One sentence for each capability: what a caller may rely on when it is true. */
export const CAPABILITY_MEANING: Readonly<Record<Capability, string>> = {
  inspect: "The live hold on one session can be read without touching it.",
  list: "Live holds can be listed in order, a page at a time.",
  transfer: "A live hold can be handed to a new owner in one atomic step.",
  forceRelease: "An operator can break a hold or remove a corrupt record.",
  requestRelease: "Any process can ask the holder to let go.",
  waitForChange: "A waiter is woken when a hold changes.",
  domain: "The backend has an identity of its own that stores can remember.",
  ttl: "The time to live can be chosen for each call.",
  reasons:
    "A refused holder is told why (expired, taken, released, forced or deleted), and a new one how the hold before ended.",
  releaseOutcome: "Release tells released, absent and other apart.",
  metadata: "Metadata given at acquire comes back from inspect and list.",
  releaseByOwner: "A hold can be released by an owner that never learnt its token.",
};

const every = (value: boolean): Capabilities =>
  Object.freeze(
    Object.fromEntries([...POWERS, ...CORE_TRUTHS].map((capability) => [capability, value])) as Record<
      Capability,
      boolean
    >,
  );

export const ALL_CAPABILITIES: Capabilities = every(true);
export const NO_CAPABILITIES: Capabilities = every(false);

/** True, and narrowed, if the lease declares this power. */
export function supports<P extends Power>(lease: SessionLease, power: P): lease is SessionLease & Powers[P] {
  return lease.capabilities[power] === true;
}
