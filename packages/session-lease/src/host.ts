/**
 * What only a process on a host has: its own life and that of its neighbours, as /proc tells it, and the names of
 * its system's errors. An entry of its own, since only adapters, stores and leashes on one host ask.
 */

export { errnoOf, isErrno } from "./errno.js";
export type { ProcessIdentity } from "./lease.js";
export {
  ownProcessIdentity,
  type PidProbe,
  type ProcessLife,
  type ProcessSource,
  processLife,
  readProcessIdentity,
  sharesProcessSpace,
} from "./process-identity.js";
export { isDead, type NoStat, type ProcessStat, parseProcessStat, readProcessStat } from "./process-stat.js";
