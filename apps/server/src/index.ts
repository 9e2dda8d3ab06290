/** The agent server, for programs that start it themselves. `main.ts` is the program. */

export { FLAGS, type Flag, variableOf } from "./start/flag-table.js";
export { parseFlags } from "./start/flags.js";
export { LOG_LEVELS, type LogLevel, type ServerOptions } from "./start/server-options.js";
export { type RunningServer, startServer } from "./start/start-server.js";
export { StartError, UsageError } from "./start/usage-error.js";
