/**
 * What only a process on a host has: its own life and that of its neighbours, as /proc tells it. An entry of its own, since
 * only adapters and leashes on one host ask.
 */

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
