/**
 * One command on the leash, as its holder sees it.
 *
 * States
 * - running:   it may run. From the opening of its gate, and again by an extension.
 * - suspended: stopped at the holder's wish (`suspend`), until the next extension.
 * - stopped:   stopped by the watcher, because validity has ended. An extension within 5 s continues it; else it is killed.
 * - stopping:  asked to end, by `stop`; killed when the grace is over.
 * - ended:     no member of the group is left. Final.
 *
 * The leader's exit is no state: a leader may exit and leave its group running.
 */

import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { type Clock, type Moment, momentOf, type Timer, timeLeft } from "@leasehold/session-lease";
import type { GroupEnds } from "./group-ends.js";
import type { GroupIdentity } from "./group-identity.js";
import { deliverSignal } from "./group-standing.js";
import { LeashError } from "./leash-error.js";
import { requireMoment } from "./validity-end.js";
import type { WatchReport } from "./watch.js";
import type { HolderMessage } from "./watch-messages.js";

/** How the command itself ended, as Node reports it: exactly one of the two is not null. */
export type Exit = Readonly<{ code: number | null; signal: NodeJS.Signals | null }>;

export type ChildState = "running" | "suspended" | "stopped" | "stopping" | "ended";

/**
 * What ended, or is ending, the group: the command `itself` (also while it simply runs), the holder's `stop`, the end of
 * `validity`, or the loss of the watcher (`unwatched`).
 */
export type EndedBy = "itself" | "stop" | "validity" | "unwatched";

export interface StopOptions {
  /** Ms between SIGTERM and SIGKILL; 0 kills at once. Cut short by the end of validity. Default 5,000. */
  readonly graceMs?: number;
}

export interface LeashedChild {
  /** Writes to the command's standard input; null unless its stdio is `pipe`. The same holds for the other two. */
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly group: GroupIdentity;
  readonly state: ChildState;
  readonly endedBy: EndedBy;
  /** The end of validity last given. */
  readonly validUntil: Moment;
  /** Resolves when the command has exited; what it has started may still run. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Resolves when no member of the group is left, by state: zombies are gone. Never rejects. */
  readonly ended: Promise<void>;
  /**
   * Replaces the end of validity; call it after each confirmed renewal. A future one continues a stopped or suspended
   * group; one that has passed extends nothing. Throws `invalid`; does nothing once the group has ended.
   */
  extend(until: Moment): void;
  /** Stops the whole group at once (SIGSTOP), while the holder's validity is in doubt; the next extension continues it. */
  suspend(): void;
  /**
   * Ends the group: SIGTERM, SIGKILL after the grace; at once SIGKILL if validity is over, since what may not run may
   * not run to clean up either. Resolves like `ended`. A second call can shorten the grace. Throws `invalid`.
   */
  stop(options?: StopOptions): Promise<void>;
}

export interface ChildPorts {
  readonly clock: Clock;
  readonly ends: GroupEnds;
  /**
   * Says something to the watcher that stands, if one stands; resolves when it is done, or never will be. A new watcher is
   * told the state as it then is.
   */
  tell(message: HolderMessage): Promise<void>;
}

export class ChildOnLeash implements LeashedChild {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly group: GroupIdentity;
  readonly exited: Promise<Exit>;
  readonly ended: Promise<void>;
  readonly #ports: ChildPorts;
  #state: ChildState = "running";
  #endedBy: EndedBy = "itself";
  #until: Moment;
  #held = false;
  #kill: Timer | undefined;

  constructor(child: ChildProcess, group: GroupIdentity, until: Moment, ports: ChildPorts) {
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.group = group;
    this.#until = until;
    this.#ports = ports;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    this.ended = this.exited.then(async ({ signal }) => {
      await ports.ends.whenGone(group);
      // The exit may be seen before the watcher's word that it was the killer: its answer to this comes after that word.
      const unsure = signal === "SIGKILL" || this.#state !== "running" || this.#left() <= 0;
      if (unsure && this.#endedBy === "itself") await ports.tell({ type: "forget", id: group.id });
      this.#state = "ended";
      this.#kill?.cancel();
    });
  }

  get state(): ChildState {
    return this.#state;
  }

  get endedBy(): EndedBy {
    return this.#endedBy;
  }

  get validUntil(): Moment {
    return this.#until;
  }

  extend(until: Moment): void {
    requireMoment(until);
    if (this.#state === "ended") return;
    this.#until = until;
    if (this.#state === "suspended" && this.#left() > 0) this.#state = "running";
    void this.#ports.tell({ type: "extend", id: this.group.id, until });
  }

  suspend(): void {
    if (this.#state !== "running") return;
    this.#state = "suspended";
    // Here and at once. The watcher is told too, because an extension may be on its way to it that was sent before.
    deliverSignal(this.group, "SIGSTOP");
    void this.#ports.tell({ type: "suspend", id: this.group.id });
  }

  stop(options: StopOptions = {}): Promise<void> {
    const { graceMs = 5_000 } = options;
    if (!(graceMs >= 0)) throw new LeashError("invalid", "graceMs must be a number of ms, 0 or more");
    if (this.#state === "ended") return this.ended;
    if (this.#endedBy === "itself") this.#endedBy = "stop";
    const grace = Math.min(graceMs, this.#left());
    if (grace <= 0) {
      this.#cut();
    } else {
      if (this.#state !== "stopping") {
        deliverSignal(this.group, "SIGTERM");
        // A stopped group would sleep through it. The watcher too, because a suspension may be on its way to it.
        deliverSignal(this.group, "SIGCONT");
        void this.#ports.tell({ type: "resume", id: this.group.id });
      }
      this.#kill?.cancel();
      this.#kill =
        grace === Number.POSITIVE_INFINITY ? undefined : this.#ports.clock.schedule(() => this.#cut(), grace);
    }
    this.#state = "stopping";
    this.#ports.ends.hurry();
    return this.ended;
  }

  /** What a watcher has to know of the group. */
  registration(): HolderMessage {
    const suspended = this.#state === "suspended";
    return { type: "register", group: this.group, until: this.#until, suspended, held: this.#held };
  }

  /** Stops the group because nobody watches it; the watcher that takes it over continues it. */
  hold(): void {
    if (this.#state === "ended") return;
    this.#held = true;
    deliverSignal(this.group, "SIGSTOP");
  }

  /** Kills the group without grace. */
  abandon(why: EndedBy): void {
    if (this.#state === "ended") return;
    this.#endedBy = why;
    this.#state = "stopping";
    this.#cut();
  }

  /** The watcher has done something to the group by itself. */
  note(report: WatchReport): void {
    if (report === "killed") {
      if (this.#endedBy === "itself" && this.#state !== "ended") this.#endedBy = "validity";
      this.#ports.ends.hurry();
    } else if (this.#state !== "ended" && this.#state !== "stopping") {
      // A suspension since the extension that continued it has the last word.
      if (report === "stopped") this.#state = "stopped";
      else if (this.#state === "stopped") this.#state = "running";
    }
  }

  #left(): number {
    return timeLeft(this.#until, momentOf(this.#ports.clock));
  }

  #cut(): void {
    deliverSignal(this.group, "SIGKILL");
    this.#ports.ends.hurry();
  }
}
