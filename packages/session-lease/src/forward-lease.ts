import type { FullSessionLease, SessionLease } from "./lease.js";

/**
 * A lease that behaves as `inner` but for what `overrides` replaces: for tracing, faults, counting. Capabilities, optional
 * powers, name and close are forwarded, so that nothing is lost behind the wrapper and nothing is promised that is not there.
 */
export function forwardLease<L extends SessionLease>(inner: L, overrides: Partial<FullSessionLease> = {}): L {
  return new Proxy(inner, {
    get(target, property) {
      if (Object.hasOwn(overrides, property)) return Reflect.get(overrides, property);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    has: (target, property) => Object.hasOwn(overrides, property) || Reflect.has(target, property),
  });
}
