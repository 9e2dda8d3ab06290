import { readdirSync, readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { isDead, type ProcessStat, readProcessStat } from "@leasehold/session-lease/host";
import { MARK_VARIABLE } from "./group-identity.js";

/** What one pass over /proc saw of the groups that lead their own session. */
export interface Survey {
  /** Members that can run, by group id. */
  readonly living: ReadonlyMap<number, readonly ProcessStat[]>;
  /** Ids of groups with members that are dead and not yet reaped. */
  readonly dead: ReadonlySet<number>;
}

/** Entries read between two yields: about a millisecond's worth on a slow host. */
const ENTRIES_PER_STEP = 32;

function* surveyInSteps(root: string): Generator<void, Survey | undefined> {
  let entries: string[];
  try {
    entries = readdirSync(root);
  } catch {
    return undefined;
  }
  const pids = entries.map(Number).filter((pid) => Number.isSafeInteger(pid) && pid > 0);
  if (pids.length === 0) return undefined;
  const living = new Map<number, ProcessStat[]>();
  const dead = new Set<number>();
  for (const [index, pid] of pids.entries()) {
    if (index % ENTRIES_PER_STEP === ENTRIES_PER_STEP - 1) yield;
    const stat = readProcessStat(pid, root);
    // setpgid(2) cannot leave the session, so a group whose id is not its session's was never on a leash.
    if (typeof stat === "string" || stat.group !== stat.session) continue;
    const members = living.get(stat.group);
    if (isDead(stat)) dead.add(stat.group);
    else if (members === undefined) living.set(stat.group, [stat]);
    else members.push(stat);
  }
  return { living, dead };
}

/** The survey at one go; undefined where there is no /proc to pass over: for the watcher, which has nothing else to do, and where order of signals matters. */
export function surveyNow(root = "/proc"): Survey | undefined {
  const steps = surveyInSteps(root);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, giving the event loop a turn between steps: for a holder with thousands of processes around it. */
export async function survey(root = "/proc"): Promise<Survey | undefined> {
  const steps = surveyInSteps(root);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

/** Whether the process was started with this mark in its environment; false also when that may not be read. */
export function bearsMark(pid: number, mark: string, root = "/proc"): boolean {
  try {
    return readFileSync(`${root}/${pid}/environ`, "latin1").split("\0").includes(`${MARK_VARIABLE}=${mark}`);
  } catch {
    return false;
  }
}
