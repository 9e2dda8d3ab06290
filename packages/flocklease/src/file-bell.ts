/**
 * Tells holders in every process of the host that one of them is asked to let go: whoever asks makes a file named after the
 * stem in one directory and removes it again, and whoever listens watches that directory. One watch serves a process,
 * however many sessions it holds, and the renewals of others never wake it. The request itself stands in the session's
 * record; a ring that is lost costs promptness and nothing else.
 *
 * States of listening:
 * - *silent*: nobody listens here. There is no watch and no timer.
 * - *opening*: the directory is being made; rings are lost.
 * - *watching*: the kernel reports every ring.
 * - *broken*: the directory is gone, or the kernel will not watch (inotify's limits are reached). Opened again after `AGAIN`.
 */

import path from "node:path";
import type { Clock, RequestBell, Timer } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { quietly } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import type { LeaseRoot, OpenRoot } from "./lease-root.js";
import { isStem, stemOf } from "./stem.js";

/** Where the bell hangs, below the root. */
const ASKED = ".asked";
/** Ms between two attempts to watch. */
const AGAIN = 5_000;

export interface FileBellParts {
  readonly files: LeaseFiles;
  readonly clock: Clock;
  readonly root: LeaseRoot;
  /** Whose stem it is, if there is a record in it. */
  readonly sessionOf: (root: string, stem: string) => Promise<string | undefined>;
}

export class FileBell implements RequestBell {
  readonly #parts: FileBellParts;
  readonly #listeners = new Set<(sessionId: string) => void>();
  /** Stems that have rung and whose record is being read: a ring makes more than one event. */
  readonly #ringing = new Set<string>();
  #stop: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(parts: FileBellParts) {
    this.#parts = parts;
  }

  async ring(sessionId: string): Promise<void> {
    const { files, root } = this.#parts;
    const file = path.join((await root.open()).path, ASKED, stemOf(sessionId));
    try {
      await files.write(file, "", false);
    } catch (error) {
      // Without the directory nobody listens. A file that is there was left by a process that was killed right here: its
      // removal rings as well.
      if (!isErrno(error, "EEXIST")) return;
    }
    await quietly(files.unlink(file));
  }

  listen(onRequest: (sessionId: string) => void): () => void {
    // One function may be given twice; each has its own entry.
    const listener = (sessionId: string): void => onRequest(sessionId);
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) void this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#silence();
    };
  }

  close(): void {
    this.#listeners.clear();
    this.#silence();
  }

  #silence(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#stop?.();
    this.#stop = undefined;
  }

  async #open(): Promise<void> {
    this.#timer = undefined;
    try {
      const root = await this.#parts.root.open();
      if (this.#listeners.size === 0 || this.#stop !== undefined) return;
      if (this.#watch(root)) return;
      await quietly(this.#parts.files.mkdir(path.join(root.path, ASKED)));
      if (this.#listeners.size > 0 && this.#stop === undefined && !this.#watch(root)) this.#openLater();
    } catch {
      this.#openLater();
    }
  }

  /** False if the directory is missing; throws where the kernel will not watch. */
  #watch(root: OpenRoot): boolean {
    const directory = path.join(root.path, ASKED);
    try {
      this.#stop = this.#parts.files.watch(
        directory,
        (name) => {
          // Its own name, or none: the directory itself is going, or it cannot be told what rang.
          if (name === undefined || name === ASKED) this.#lost();
          else if (isStem(name)) void this.#rang(root, name);
        },
        () => this.#lost(),
      );
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return false;
      throw error;
    }
  }

  #lost(): void {
    this.#stop?.();
    this.#stop = undefined;
    if (this.#listeners.size > 0) this.#openLater();
  }

  #openLater(): void {
    if (this.#timer !== undefined || this.#listeners.size === 0) return;
    this.#timer = this.#parts.clock.schedule(() => void this.#open(), AGAIN);
  }

  async #rang(root: OpenRoot, stem: string): Promise<void> {
    if (this.#ringing.has(stem)) return;
    this.#ringing.add(stem);
    // What rings while the record is read is about the same session, and its holder looks after this.
    const sessionId = await this.#parts.sessionOf(root.path, stem).catch(() => undefined);
    this.#ringing.delete(stem);
    if (sessionId === undefined) return;
    for (const listener of [...this.#listeners]) listener(sessionId);
  }
}
