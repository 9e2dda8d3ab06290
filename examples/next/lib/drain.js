import { runs } from "./sessions.js";

/** `next start` then waits for the answers under way, and these end with their runs. */
process.on("SIGTERM", () => runs.drain(15_000));
