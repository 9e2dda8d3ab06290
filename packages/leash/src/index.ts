/** Process groups that end when their holder's validity does, whatever became of the holder. Start at `leash.ts`. */

export { findCommand } from "./command.js";
export type { Stdio } from "./gated-process.js";
export { type GroupIdentity, isGroupIdentity } from "./group-identity.js";
export { Leash, type LeashOptions, type SpawnOptions } from "./leash.js";
export { LeashError, type LeashErrorCode } from "./leash-error.js";
export type { ChildState, EndedBy, Exit, LeashedChild, StopOptions } from "./leashed-child.js";
export { type KillLeftoverOptions, killLeftover, type LeftoverOutcome } from "./leftover.js";
export { NO_END } from "./validity-end.js";
