import { pause } from "@leasehold/session-lease";
import { findRunError, type SessionRuns } from "@leasehold/session-runs";
import { type RunParts, tokenOf } from "./conduct-run.js";
import { succeed } from "./predecessor.js";
import { RunWriter } from "./run-writer.js";

/** Ms to wait for whoever was quicker to write what this server would have written. */
const AFTER_A_REFUSAL = 200;

/**
 * Gives the last run of a session that nobody holds the end that its holder did not live to write, as the next holder would.
 * Resolves to whether its log may tell of an end now, or soon: also when somebody else has taken the session meanwhile.
 */
export async function recoverRun(id: string, runs: SessionRuns, parts: RunParts): Promise<boolean> {
  const { store, clock, log } = parts;
  try {
    await runs.run(id, {}, async (run) => {
      await succeed(id, new RunWriter(run, await tokenOf(run, store), store, clock), store, log);
    });
    return true;
  } catch (error) {
    const code = findRunError(error)?.code;
    if (code === "session_busy" || code === "session_leased_elsewhere") {
      await pause(clock, AFTER_A_REFUSAL);
      return true;
    }
    if (code !== "draining") log.warn({ event: "recovery.failed", sessionId: id, err: error });
    return false;
  }
}
