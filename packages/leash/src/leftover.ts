import { type Clock, hostClock } from "@leasehold/session-lease";
import { ownProcessIdentity, sharesProcessSpace } from "@leasehold/session-lease/host";
import { GroupEnds } from "./group-ends.js";
import { type GroupIdentity, requireGroupIdentity } from "./group-identity.js";
import { type Standing, signalGroup, standingAtAGlance, standingInSurvey } from "./group-standing.js";
import { survey } from "./group-survey.js";
import { LeashError } from "./leash-error.js";

/**
 * - `killed`: some of it was left; now nothing is.
 * - `absent`: nothing of it was left. Also when its number has gone to somebody else, who was left alone.
 * - `elsewhere`: recorded on another host, in another boot or another PID or time namespace: nothing was done, and
 *   nothing is known. Its own watcher, its host's end or its container's end has to answer for it.
 * - `unproven`: processes bear its number, its leader is gone and none of them shows its mark, or /proc cannot tell
 *   at all. They may be strangers and were left alone.
 */
export type LeftoverOutcome = "killed" | "absent" | "elsewhere" | "unproven";

export interface KillLeftoverOptions {
  /** Ms to wait for the end of what was killed. Default 10,000. */
  readonly withinMs?: number;
  /** Default: `hostClock`. */
  readonly clock?: Clock;
}

/**
 * For a new holder, before it starts anything of its own: kills what an earlier holder's command has left on this host,
 * and resolves when no member can run any more.
 *
 * Rejects `invalid` if `recorded` is not what `spawn` gave as `group`, and `not-gone` if members outlive SIGKILL (a process
 * in uninterruptible sleep, or one that belongs to another user): then it is not safe to go on.
 */
export async function killLeftover(
  recorded: GroupIdentity,
  options: KillLeftoverOptions = {},
): Promise<LeftoverOutcome> {
  const { withinMs = 10_000, clock = hostClock } = options;
  const group = requireGroupIdentity(recorded);
  const self = ownProcessIdentity();
  if (self === undefined || group.leader === undefined) return "unproven";
  if (!sharesProcessSpace(group.leader, self)) return "elsewhere";
  const standing = await standingOf(group);
  if (standing !== "present") return standing;
  signalGroup(group.id, "SIGKILL");
  await goneWithin(group, withinMs, clock);
  return "killed";
}

async function standingOf(group: GroupIdentity): Promise<Standing> {
  const standing = standingAtAGlance(group);
  return standing === "look" ? standingInSurvey(group, await survey()).standing : standing;
}

/** Its timer keeps the program alive, as those of `GroupEnds` do not: a new holder has nothing else to live by. */
function goneWithin(group: GroupIdentity, withinMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new LeashError("not-gone", `process group ${group.id} is still there ${withinMs} ms after SIGKILL`));
    const timer = clock.schedule(late, withinMs, { keepAlive: true });
    void new GroupEnds(clock).whenGone(group).then(() => {
      timer.cancel();
      resolve();
    });
  });
}
