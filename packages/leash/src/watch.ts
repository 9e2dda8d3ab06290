/**
 * What the watcher knows and decides, without a clock, a pipe or a signal of its own.
 *
 * States of a group
 * - running:   its validity lasts. Entered by `register` and by an extension that is not over. Left when an end of validity passes
 *              (stopped) or the holder is in doubt (suspended).
 * - suspended: stopped at the holder's wish while validity lasts. Left by an extension or `resume` (running), or when validity ends (stopped).
 * - stopped:   validity has ended; SIGSTOP is sent. Left by an extension that is not over (running), or after `killAfterMs` of
 *              monotonic time counted from the stop (killed).
 * - killed:    SIGKILL is sent. Final: nothing extends it.
 * A group leaves the table when the holder says that no member is left (`forget`).
 *
 * Ends of validity are absolute instants on both clocks, so nothing here depends on when a message was sent or read: one
 * that was read too late names an instant that has passed, and extends nothing.
 */

import { type Moment, timeLeft } from "@leasehold/session-lease";
import type { GroupIdentity } from "./group-identity.js";
import { hasEnded } from "./validity-end.js";

type State = "running" | "suspended" | "stopped" | "killed";

interface Watched {
  readonly group: GroupIdentity;
  until: Moment;
  state: State;
  /** Monotonic ms of the SIGSTOP at the end of validity; only of use in state `stopped`. */
  stoppedAt: number;
}

/** What a holder is told of its groups. */
export type WatchReport = "stopped" | "continued" | "killed";

export interface WatchPorts {
  signal(group: GroupIdentity, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void;
  report(id: number, report: WatchReport): void;
}

export class Watch {
  readonly #groups = new Map<number, Watched>();
  readonly #killAfterMs: number;
  readonly #ports: WatchPorts;

  /** `killAfterMs`: monotonic ms between the stop at the end of validity and the kill. */
  constructor(killAfterMs: number, ports: WatchPorts) {
    this.#killAfterMs = killAfterMs;
    this.#ports = ports;
  }

  get size(): number {
    return this.#groups.size;
  }

  /**
   * Takes a group under watch. `held`: it has been stopped because its last watcher died, and is continued if nothing
   * speaks against that.
   */
  register(group: GroupIdentity, until: Moment, wish: { suspended: boolean; held: boolean }, now: Moment): void {
    const watched: Watched = { group, until, state: wish.suspended ? "suspended" : "running", stoppedAt: 0 };
    this.#groups.set(group.id, watched);
    this.#judge(watched, now);
    if (wish.held && watched.state === "running") this.#ports.signal(group, "SIGCONT");
  }

  /** Replaces the end of validity; continues a stopped or suspended group if the new one has not passed. */
  extend(id: number, until: Moment, now: Moment): void {
    const watched = this.#groups.get(id);
    if (watched === undefined || watched.state === "killed") return;
    watched.until = until;
    if (hasEnded(until, now)) {
      this.#judge(watched, now);
    } else if (watched.state !== "running") {
      watched.state = "running";
      this.#ports.signal(watched.group, "SIGCONT");
      this.#ports.report(id, "continued");
    }
  }

  /** Stops the group until the next extension. */
  suspend(id: number): void {
    const watched = this.#groups.get(id);
    if (watched?.state !== "running") return;
    watched.state = "suspended";
    this.#ports.signal(watched.group, "SIGSTOP");
  }

  /** Undoes a suspension while validity lasts: a group that is asked to end must be able to hear it. */
  resume(id: number, now: Moment): void {
    const watched = this.#groups.get(id);
    if (watched?.state === "suspended") this.extend(id, watched.until, now);
  }

  forget(id: number): void {
    this.#groups.delete(id);
  }

  /** Stops and kills whatever is due. Idempotent, and right however late it is called. */
  evaluate(now: Moment): void {
    for (const watched of this.#groups.values()) this.#judge(watched, now);
  }

  /** The holder is gone: kills every group, in whatever state. */
  killAll(): void {
    for (const watched of this.#groups.values()) this.#kill(watched);
  }

  /** Ms until something may be due by the clocks as they stand; Infinity when nothing will be. */
  dueIn(now: Moment): number {
    let due = Number.POSITIVE_INFINITY;
    for (const watched of this.#groups.values()) {
      if (watched.state === "killed") continue;
      const left =
        watched.state === "stopped"
          ? watched.stoppedAt + this.#killAfterMs - now.monotonic
          : timeLeft(watched.until, now);
      due = Math.min(due, left);
    }
    return Math.max(due, 0);
  }

  #judge(watched: Watched, now: Moment): void {
    if (watched.state === "stopped") {
      if (now.monotonic - watched.stoppedAt >= this.#killAfterMs) {
        this.#kill(watched);
        this.#ports.report(watched.group.id, "killed");
      }
    } else if (watched.state !== "killed" && hasEnded(watched.until, now)) {
      watched.state = "stopped";
      watched.stoppedAt = now.monotonic;
      this.#ports.signal(watched.group, "SIGSTOP");
      this.#ports.report(watched.group.id, "stopped");
    }
  }

  #kill(watched: Watched): void {
    watched.state = "killed";
    this.#ports.signal(watched.group, "SIGKILL");
  }
}
