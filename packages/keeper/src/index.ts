export { LeaseInDoubtError, LeaseLostError } from "./errors.js";
export { callHook } from "./hook.js";
export { Keeper, type KeeperState } from "./keeper.js";
export { checkRenewal, type KeeperHooks, type KeeperOptions } from "./keeper-options.js";
export { settlesWithin, within } from "./within.js";
