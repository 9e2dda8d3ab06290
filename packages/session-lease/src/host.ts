/**
 * What only a process on a host has: its own life and that of its neighbours, as /proc tells it. Kept out of the main
 * entry so that the port itself needs no Node.
 */

export { hostClock } from "./host-clock.js";
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
