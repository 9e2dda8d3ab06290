import { link, mkdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lock } from "proper-lockfile";

/** What one write under a lock costs at least: lock, one temporary file written, linked and unlinked, unlock. */
export class LockFloor {
  readonly #dir: string;
  readonly #text: string;
  #number = 0;

  constructor(dir: string, text: string) {
    this.#dir = dir;
    this.#text = text;
  }

  async open(): Promise<void> {
    await mkdir(this.#dir, { recursive: true });
  }

  async step(): Promise<void> {
    this.#number += 1;
    const temporary = join(this.#dir, "temporary");
    const options = { lockfilePath: join(this.#dir, "lock"), realpath: false, stale: 2000, retries: 0 };
    const unlock = await lock(this.#dir, options);
    await writeFile(temporary, this.#text, { mode: 0o600 });
    await link(temporary, join(this.#dir, String(this.#number)));
    await unlink(temporary);
    await unlock();
  }
}
