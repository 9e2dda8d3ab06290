/**
 * Waits for groups to end. The kernel tells a parent of its child's death and nobody of a group's, so this asks, for all
 * groups of the process together: first the kernel whether the number is in use at all; then for one member that was alive
 * the last time; and only if that one is dead does it pass over /proc to find another, or none.
 */

import type { Clock, Timer } from "@leasehold/session-lease";
import { isDead, type ProcessStat, readProcessStat } from "@leasehold/session-lease/host";
import type { GroupIdentity } from "./group-identity.js";
import { standingAtAGlance, standingInSurvey } from "./group-standing.js";
import { survey } from "./group-survey.js";

/** Ms between two rounds: short after anything has happened, twice as long each time nothing has. */
const SHORTEST = 5;
const LONGEST = 250;

interface Waiting {
  readonly group: GroupIdentity;
  witness?: ProcessStat | undefined;
  readonly gone: () => void;
}

export class GroupEnds {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();
  #pause = SHORTEST;
  #timer: Timer | undefined;
  #asking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when no member of the group can run any more; zombies cannot. Its timers do not keep the process alive. */
  whenGone(group: GroupIdentity): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add({ group, gone: resolve });
      void this.#round();
      this.hurry();
    });
  }

  /** Something has just been done that may end a group: ask again soon. */
  hurry(): void {
    this.#pause = SHORTEST;
    if (this.#asking) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#plan();
  }

  #plan(): void {
    if (this.#waiting.size === 0 || this.#timer !== undefined) return;
    this.#timer = this.#clock.schedule(() => {
      this.#timer = undefined;
      void this.#round();
    }, this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST);
  }

  async #round(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const unclear: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (waiting.witness !== undefined && stillRuns(waiting.witness)) continue;
      const standing = standingAtAGlance(waiting.group);
      if (standing === "absent") this.#settle(waiting);
      else if (standing === "look") unclear.push(waiting);
    }
    if (unclear.length > 0) {
      const found = await survey();
      for (const waiting of unclear) {
        const { standing, witness } = standingInSurvey(waiting.group, found);
        if (standing === "absent") this.#settle(waiting);
        else waiting.witness = witness;
      }
    }
    this.#asking = false;
    this.#plan();
  }

  #settle(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    waiting.gone();
  }
}

function stillRuns(witness: ProcessStat): boolean {
  const now = readProcessStat(witness.pid);
  if (typeof now === "string") return false;
  return now.startTime === witness.startTime && now.group === witness.group && !isDead(now);
}
