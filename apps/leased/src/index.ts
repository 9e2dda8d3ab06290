export { type DaemonOptions, LOG_LEVELS, type LogLevel } from "./daemon-options.js";
export { FLAGS, type Flag, HelpShown, parseFlags, variableOf } from "./flags.js";
export { type RunningDaemon, startDaemon } from "./start-daemon.js";
export { StartError, UsageError } from "./start-errors.js";
