/** Turns one URL, or a set of flags, into a lease. */
export type { Backend, BackendOptions } from "./backend.js";
export {
  BACKEND_FLAGS,
  type BackendFlag,
  type BackendFlags,
  chosenFlag,
  DECLARED_FLAGS,
  type DeclaredFlag,
} from "./backend-flags.js";
export { BACKENDS, type Chosen, type OpenedBackend, type OpenLeaseOptions, openLease } from "./open-lease.js";
export { BackendUsageError } from "./usage-error.js";
