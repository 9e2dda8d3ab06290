/**
 * Clearing away what killed processes left: things under construction and lock directories. Everything here is older
 * than any write that could still succeed, and whoever lost the race against the broom only has to write again.
 */

import path from "node:path";
import type { Clock } from "@leasehold/session-lease";
import { quietly } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import { isWorkplace, type OpenRoot, WORK } from "./lease-root.js";

export class OrphanSweep {
  readonly #files: LeaseFiles;
  readonly #clock: Clock;
  /** Ms; also the time between two sweeps. */
  readonly #age: number;
  #nextAt = Number.NEGATIVE_INFINITY;
  #sweeping: Promise<unknown> | undefined;

  constructor(files: LeaseFiles, clock: Clock, age: number) {
    this.#files = files;
    this.#clock = clock;
    this.#age = age;
  }

  /** Begins a sweep in the background if one is due: at the first call, and then at most once per `age`. */
  poke(root: OpenRoot): void {
    const now = this.#clock.wall();
    if (now < this.#nextAt || this.#sweeping !== undefined) return;
    this.#nextAt = now + this.#age;
    this.#sweeping = quietly(this.#sweep(root, now - this.#age)).then(() => {
      this.#sweeping = undefined;
    });
  }

  /** Resolves when no sweep runs. */
  async settled(): Promise<void> {
    await this.#sweeping;
  }

  async #sweep(root: OpenRoot, before: number): Promise<void> {
    const work = path.join(root.path, WORK);
    for (const name of await this.#files.list(work)) {
      const entry = path.join(work, name);
      if (!isWorkplace(name)) await quietly(this.#removeIfOld(entry, before));
      else
        for (const orphan of await this.#files.list(entry))
          await quietly(this.#removeIfOld(path.join(entry, orphan), before));
    }
  }

  async #removeIfOld(orphan: string, before: number): Promise<void> {
    if ((await this.#files.stat(orphan)).modifiedAt >= before) return;
    // By its second name a record tells that it is open (`confirmation.ts`). It goes after the record. What a
    // backup made of hard links shares looks the same, and waits for that to go.
    if ((await this.#files.inode(orphan)).links > 1) return;
    if (await quietly(this.#files.unlink(orphan))) return;
    for (const name of await this.#files.list(orphan)) await this.#files.unlink(path.join(orphan, name));
    await this.#files.rmdir(orphan);
  }
}
