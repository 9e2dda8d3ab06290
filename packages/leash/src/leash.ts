/**
 * Process groups that end when their holder's validity does, whatever became of the holder.
 *
 * The argument. A command acts only while (a) its holder lives and (b) the holder's validity lasts, give or take the
 * watcher's reaction time, because at every moment one of these is true of its group:
 *
 * 1. It has not run yet: it waits at a gate that only a living holder can open (`gated-process.ts`).
 * 2. A watcher, another process in another session, knows the group and the end of its validity (`watch.ts`). It learns
 *    of the holder's death by end of file, which no death can prevent, and of the end of validity by its own reading of the
 *    clocks, which nothing in the holder can delay: killed, stopped or busy, the holder merely fails to send an extension.
 * 3. The watcher has just died, and the holder has stopped the group before it starts another (`#watcherDown`). If the
 *    holder dies in that moment too, what it leaves is stopped, and named in whatever `onRegistered` wrote: the next
 *    holder's `killLeftover` ends it.
 *
 * Gate and registration are ordered: registered and acknowledged, then written down by the caller, then opened.
 *
 * States of the watcher, as the leash has it
 * - none:     not needed yet, or gone. Left by `ready`, by `spawn`, or by the wish to watch groups again (starting).
 * - starting: left when it is ready (standing) or could not be started (none).
 * - standing: left when it dies (none) or by `close` (closed).
 * - closed:   final.
 */

import { randomUUID } from "node:crypto";
import { type Clock, hostClock, type Moment, momentOf } from "@leasehold/session-lease";
import { findCommand, requireDirectory } from "./command.js";
import { type GatedProcess, type Stdio, startGated } from "./gated-process.js";
import { GroupEnds } from "./group-ends.js";
import { type GroupIdentity, identifyGroup, MARK_VARIABLE } from "./group-identity.js";
import { LeashError } from "./leash-error.js";
import { ChildOnLeash, type LeashedChild, type StopOptions } from "./leashed-child.js";
import { hasEnded, requireMoment } from "./validity-end.js";
import { WatcherLink } from "./watcher-link.js";

export interface LeashOptions {
  /** Must read CLOCK_MONOTONIC as other processes do: the watcher compares. Default: `hostClock`. */
  readonly clock?: Clock;
  /** Monotonic ms between the stop at the end of validity and the kill. Default 5,000. */
  readonly killAfterMs?: number;
  /** Ms for which the watcher may owe an answer before it is killed and replaced; also the time it has to start. Default 5,000. */
  readonly answerWithinMs?: number;
  /** The watcher's program, for bundlers that move it. Default: `dist/watcher.js` of this package. */
  readonly watcherFile?: string;
  /** Called when a watcher has died; its groups are stopped until another has them, or killed if none can be started. */
  readonly onWatcherLost?: () => void;
}

export interface SpawnOptions {
  /** The end of the holder's validity; `NO_END` ties the command to the holder's life alone. */
  readonly validUntil: Moment;
  /** Default: that of this process. */
  readonly cwd?: string;
  /** The whole environment, `LEASEHOLD_LEASH` is added. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Standard input, output and error. Default: three pipes. */
  readonly stdio?: Stdio | readonly [Stdio, Stdio, Stdio];
  /** Called when the group is watched and nothing of the command has run; it runs once this has resolved. */
  readonly onRegistered?: (group: GroupIdentity) => void | Promise<void>;
}

/** Watchers tried in a row for one group before the group is given up. */
const ATTEMPTS = 3;

export class Leash implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #options: LeashOptions;
  readonly #ends: GroupEnds;
  readonly #children = new Set<ChildOnLeash>();
  readonly #registering = new Set<ChildOnLeash>();
  #link: Promise<WatcherLink> | undefined;
  #standing: WatcherLink | undefined;
  #closed = false;

  /** Starts nothing. Throws `invalid`, and `unsupported` on Windows. */
  constructor(options: LeashOptions = {}) {
    if (process.platform === "win32") throw new LeashError("unsupported", "Windows has no process groups to leash");
    for (const name of ["killAfterMs", "answerWithinMs"] as const) {
      const ms = options[name] ?? 1;
      if (!Number.isFinite(ms) || ms < 0) throw new LeashError("invalid", `${name} must be a number of ms, 0 or more`);
    }
    this.#options = options;
    this.#clock = options.clock ?? hostClock;
    this.#ends = new GroupEnds(this.#clock);
  }

  /** Groups that have not ended. */
  get size(): number {
    return this.#children.size;
  }

  /** Pid of the watcher, while one stands. */
  get watcherPid(): number | undefined {
    return this.#standing?.pid;
  }

  /** Starts the watcher if none stands, so that the first command need not wait for it. Rejects `unavailable`, `closed`. */
  async ready(): Promise<void> {
    await this.#connect();
  }

  /**
   * Starts a command on the leash. When this resolves it runs, watched and written down; when it rejects, nothing of it
   * has run. Extend the child right after if validity has moved meanwhile.
   *
   * Rejects with a `LeashError` of any code but `not-gone`, or with what `onRegistered` threw.
   */
  async spawn(command: string, args: readonly string[], options: SpawnOptions): Promise<LeashedChild> {
    const { validUntil, cwd = process.cwd(), env = process.env, stdio = "pipe" } = options;
    requireMoment(validUntil);
    requireDirectory(cwd);
    const found = findCommand(command, cwd, env);
    await this.#connect();
    this.#requireValid(validUntil);
    const mark = randomUUID();
    const gated = await startGated(found, args, {
      cwd,
      env: { ...env, [MARK_VARIABLE]: mark },
      stdio: typeof stdio === "object" && Symbol.iterator in stdio ? threeOf(stdio) : [stdio, stdio, stdio],
    });
    return await this.#admit(gated, identifyGroup(gated.pid, mark), options);
  }

  /** Stops every child (see `LeashedChild.stop`), then lets the watcher go. Idempotent; later calls are `closed`. */
  async close(options?: StopOptions): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#children].map((child) => child.stop(options)));
    const link = await this.#link?.catch(() => undefined);
    await link?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #admit(gated: GatedProcess, group: GroupIdentity, options: SpawnOptions): Promise<LeashedChild> {
    const child = new ChildOnLeash(gated.child, group, options.validUntil, {
      clock: this.#clock,
      ends: this.#ends,
      // An answer that fails to come is the link's business; a successor is told all by `registration`.
      tell: async (message) => this.#standing?.send(message).catch(() => {}),
    });
    this.#children.add(child);
    this.#keepAlive();
    void child.ended.then(() => this.#dismiss(child));
    try {
      await this.#register(child);
      await options.onRegistered?.(group);
      if (child.endedBy === "unwatched") throw new LeashError("unwatched", "no watcher could be started");
      this.#requireOpen();
      this.#requireValid(child.validUntil);
    } catch (error) {
      gated.abandon();
      child.abandon("stop");
      await child.ended;
      throw error;
    }
    gated.open();
    return child;
  }

  /** Returns when a watcher has acknowledged the group. */
  async #register(child: ChildOnLeash): Promise<void> {
    this.#registering.add(child);
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          const link = await this.#connect();
          await link.send(child.registration());
          return;
        } catch (error) {
          if (this.#closed || attempt === ATTEMPTS) throw error;
        }
      }
    } finally {
      this.#registering.delete(child);
    }
  }

  #connect(): Promise<WatcherLink> {
    if (this.#closed) return Promise.reject(new LeashError("closed", "the leash is closed"));
    if (this.#link !== undefined) return this.#link;
    const { killAfterMs = 5_000, answerWithinMs = 5_000, watcherFile } = this.#options;
    const link = WatcherLink.start({
      clock: this.#clock,
      killAfterMs,
      answerWithinMs,
      watcherFile,
      onReport: (id, report) => {
        for (const child of this.#children) if (child.group.id === id) child.note(report);
      },
      onDown: () => this.#watcherDown(),
    });
    this.#link = link;
    link.then(
      (standing) => {
        if (this.#link !== link) return;
        this.#standing = standing;
        this.#keepAlive();
      },
      () => {},
    );
    return link;
  }

  #watcherDown(): void {
    const stood = this.#standing !== undefined;
    this.#link = undefined;
    this.#standing = undefined;
    if (this.#closed) return;
    for (const child of this.#children) {
      child.hold();
      if (!this.#registering.has(child)) void this.#watchAgain(child);
    }
    if (stood) this.#tellLost();
  }

  async #watchAgain(child: ChildOnLeash): Promise<void> {
    try {
      await this.#register(child);
    } catch {
      // Closing stops it; otherwise nobody would, if this process died.
      if (!this.#closed) child.abandon("unwatched");
    }
  }

  #tellLost(): void {
    try {
      this.#options.onWatcherLost?.();
    } catch {
      // A hook that throws must not take the process down from inside an event.
    }
  }

  #dismiss(child: ChildOnLeash): void {
    this.#children.delete(child);
    void this.#standing?.send({ type: "forget", id: child.group.id }).catch(() => {});
    this.#keepAlive();
  }

  #keepAlive(): void {
    this.#standing?.keepAlive(this.#children.size > 0);
  }

  #requireOpen(): void {
    if (this.#closed) throw new LeashError("closed", "the leash is closed");
  }

  #requireValid(until: Moment): void {
    if (hasEnded(until, momentOf(this.#clock))) {
      throw new LeashError("expired", "validity was over before the command could start");
    }
  }
}

function threeOf(stdio: Iterable<Stdio>): [Stdio, Stdio, Stdio] {
  const [stdin, stdout, stderr, ...more] = stdio;
  if (stdin === undefined || stdout === undefined || stderr === undefined || more.length > 0) {
    throw new LeashError("invalid", "stdio must be one value, or three: input, output, error");
  }
  return [stdin, stdout, stderr];
}
