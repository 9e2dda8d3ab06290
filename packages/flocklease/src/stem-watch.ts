/**
 * Wakes whoever waits for a session's record to change.
 *
 * One watcher on the root sees stems come and go; one on each stem that is waited for sees its records change. All
 * waiters of one session share them, and the last to leave closes them.
 *
 * States of one session's watch:
 * - *on the stem*: the kernel reports every record.
 * - *on the root only*: there is no stem yet, or it has just gone; the root reports its coming.
 * - *polling*: the kernel will not watch (inotify's limits are reached, or ours is, or there is no root yet); waiters are
 *   told every now and then that something may have happened.
 */

import path from "node:path";
import type { Clock, Timer } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import type { LeaseFiles } from "./lease-files.js";

/** Stems watched at once; the rest are polled. Well below inotify's usual limit for one user. */
const MOST_WATCHED = 1000;
/** Ms after which a waiter is woken when the kernel does not watch for it. */
const POLL = 100;

type Watched = {
  readonly stem: string;
  readonly listeners: Set<() => void>;
  stop: (() => void) | undefined;
  timer: Timer | undefined;
};

export class StemWatch {
  readonly #files: LeaseFiles;
  readonly #clock: Clock;
  readonly #root: string;
  readonly #watched = new Map<string, Watched>();
  #stopRoot: (() => void) | undefined;
  #open = 0;

  constructor(files: LeaseFiles, clock: Clock, root: string) {
    this.#files = files;
    this.#clock = clock;
    this.#root = root;
  }

  /** Calls back after every change that the stem may have seen since this call, until the returned function is called. */
  watch(name: string, onChange: () => void): () => void {
    let watched = this.#watched.get(name);
    if (watched === undefined) {
      const stem = path.join(this.#root, name);
      watched = { stem, listeners: new Set(), stop: undefined, timer: undefined };
      this.#watched.set(name, watched);
      this.#watchRoot();
      this.#watchStem(watched);
    }
    const { listeners } = watched;
    // One function may be given twice; each has its own entry.
    const listener = (): void => onChange();
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#leave(name);
    };
  }

  /** Lets go of every watcher and timer; nobody is called any more. */
  close(): void {
    for (const name of [...this.#watched.keys()]) this.#leave(name);
  }

  #leave(name: string): void {
    const watched = this.#watched.get(name);
    if (watched === undefined || !this.#watched.delete(name)) return;
    watched.listeners.clear();
    this.#stopStem(watched);
    watched.timer?.cancel();
    if (this.#watched.size > 0) return;
    this.#stopRoot?.();
    this.#stopRoot = undefined;
  }

  #watchRoot(): void {
    if (this.#stopRoot !== undefined) return;
    try {
      this.#stopRoot = this.#files.watch(
        this.#root,
        (name) => {
          // Its own name: the root itself is going, and whatever comes in its place is not watched.
          if (name === path.basename(this.#root)) this.#rootLost();
          else if (name === undefined) for (const watched of [...this.#watched.values()]) this.#stemMoved(watched);
          else this.#stemMoved(this.#watched.get(name));
        },
        () => this.#rootLost(),
      );
    } catch {
      // No root yet, or no watchers to be had.
      this.#stopRoot = undefined;
    }
  }

  #rootLost(): void {
    this.#stopRoot?.();
    this.#stopRoot = undefined;
    for (const watched of [...this.#watched.values()]) this.#stemMoved(watched);
  }

  #stemMoved(watched: Watched | undefined): void {
    if (watched === undefined) return;
    this.#stopStem(watched);
    this.#watchStem(watched);
    this.#tell(watched);
  }

  #watchStem(watched: Watched): void {
    if (this.#stopRoot === undefined || this.#open >= MOST_WATCHED) {
      this.#poll(watched);
      return;
    }
    try {
      watched.stop = this.#files.watch(
        watched.stem,
        () => this.#tell(watched),
        () => {
          this.#stopStem(watched);
          this.#poll(watched);
        },
      );
      this.#open += 1;
    } catch (error) {
      // No stem yet: the root tells of its coming.
      if (!isErrno(error, "ENOENT")) this.#poll(watched);
    }
  }

  #stopStem(watched: Watched): void {
    if (watched.stop === undefined) return;
    watched.stop();
    watched.stop = undefined;
    this.#open -= 1;
  }

  #tell(watched: Watched): void {
    for (const listener of [...watched.listeners]) listener();
  }

  #poll(watched: Watched): void {
    if (watched.timer !== undefined) return;
    watched.timer = this.#clock.schedule(() => {
      watched.timer = undefined;
      this.#poll(watched);
      this.#tell(watched);
    }, POLL);
  }
}
