/**
 * Whether anything of a recorded group can still run, and whether what bears its number is really it.
 *
 * The kernel gives a pid again only when no process, process group and session uses the number any
 * more. So a group is the one that was recorded if its leader is still there, under the recorded start time, be it as
 * a zombie; and it is over if another process has the leader's pid. When the leader is gone and members are left, the
 * number alone proves nothing: a daemon that forked twice leaves exactly such a group, and the number may have come round
 * to it. Then the mark decides that every process inherits in its environment: one member that bears it proves the group.
 */

import { isDead, isErrno, type ProcessStat, readProcessStat } from "@leasehold/session-lease/host";
import type { GroupIdentity } from "./group-identity.js";
import { bearsMark, type Survey, surveyNow } from "./group-survey.js";

/**
 * - `present`: the recorded group, with at least one member that can run.
 * - `absent`: none of its members can run any more. Zombies cannot.
 * - `unproven`: members bear its number, and nothing readable says that they are of it, or that they are not.
 */
export type Standing = "present" | "absent" | "unproven";

/** Whether any process, zombies included, is in group `id`: the kernel's word, without /proc. */
export function groupAnswers(id: number): boolean {
  try {
    process.kill(-id, 0);
    return true;
  } catch (error) {
    // EPERM: members that belong to another user.
    return !isErrno(error, "ESRCH");
  }
}

/** What is known without a pass over /proc; `look` when a survey is needed to say more. */
export function standingAtAGlance(group: GroupIdentity, root = "/proc"): Standing | "look" {
  if (!groupAnswers(group.id)) return "absent";
  if (group.leader === undefined) return "unproven";
  const leader = readProcessStat(group.id, root);
  if (typeof leader === "string") return "look";
  if (leader.startTime !== group.leader.startTime) return "absent";
  return isDead(leader) ? "look" : "present";
}

/** What a survey says of the group. `witness`: a living member, to look at first the next time. */
export function standingInSurvey(
  group: GroupIdentity,
  survey: Survey | undefined,
  root = "/proc",
): { readonly standing: Standing; readonly witness?: ProcessStat } {
  if (survey === undefined) return { standing: groupAnswers(group.id) ? "unproven" : "absent" };
  const leader = readProcessStat(group.id, root);
  const led = typeof leader !== "string";
  if (led && leader.startTime !== group.leader?.startTime) return { standing: "absent" };
  const members = survey.living.get(group.id) ?? [];
  const [first] = members;
  if (first === undefined) {
    // Somebody answers to the number and cannot be seen, not even dead: a /proc that hides other users' processes.
    const hidden = !survey.dead.has(group.id) && groupAnswers(group.id);
    return { standing: hidden ? "unproven" : "absent" };
  }
  const witness = members.find((member) => bearsMark(member.pid, group.mark, root));
  if (witness !== undefined) return { standing: "present", witness };
  return { standing: led ? "present" : "unproven", witness: first };
}

/** Sends a signal to every member of the group; false when there was none to get it. Ask for the standing first. */
export function signalGroup(id: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-id, signal);
    return true;
  } catch (error) {
    // EPERM: no member is ours to signal. On macOS also: only zombies are left.
    if (isErrno(error, "ESRCH", "EPERM")) return false;
    throw error;
  }
}

/**
 * Sends a signal to the recorded group, and to no other that has come by its number. `look` makes the survey that is
 * needed when the leader is gone.
 *
 * A group that is only `unproven` is signalled: this is for groups under watch, whose end would have been noticed.
 */
export function deliverSignal(
  group: GroupIdentity,
  signal: NodeJS.Signals,
  look: () => Survey | undefined = surveyNow,
): void {
  const glance = standingAtAGlance(group);
  const standing = glance === "look" ? standingInSurvey(group, look()).standing : glance;
  if (standing !== "absent") signalGroup(group.id, signal);
}
