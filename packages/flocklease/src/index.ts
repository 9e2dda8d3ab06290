export { diskFiles } from "./disk-files.js";
export { DEFAULT_FORGET_AFTER, type FlockLeaseOptions, flocklease, type Processes } from "./flocklease.js";
export type { LeaseFiles } from "./lease-files.js";
export { stemOf } from "./stem.js";
export { noLock, type TransitionLock, type Turn } from "./transition-lock.js";
