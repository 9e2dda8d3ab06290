/**
 * One instance for a process, however often the module that makes it is evaluated: by several bundles of one framework, by
 * hot reload, by two copies of this package. What they have in common is the global object, and there one registry for each
 * version of this package's interface. Two versions do not meet in it: between them the lease alone decides.
 */

import { LeaseInvalidError } from "@leasehold/session-lease";

/** Changes with every release that a copy of the one before could not work with. */
const REGISTRY = Symbol.for("@leasehold/session-runs/shared/0.1");

export function sharedInstance<T>(key: string, create: () => T): T {
  if (typeof key !== "string" || key === "") throw new LeaseInvalidError("key must be a string that is not empty");
  const home = globalThis as { [REGISTRY]?: Map<string, unknown> };
  home[REGISTRY] ??= new Map();
  const registry = home[REGISTRY];
  if (!registry.has(key)) registry.set(key, create());
  return registry.get(key) as T;
}
