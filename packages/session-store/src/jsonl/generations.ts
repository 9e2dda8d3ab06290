/**
 * The files of one session, of which one is live: that of the highest generation.
 *
 * **Why the highest.** A generation is succeeded only once it is sealed, and generation N is removed only by someone
 * who has seen a higher one. So the highest number in the directory never falls, and whatever is not the highest has
 * been sealed for good.
 *
 * **Ghosts.** A helper that slept through two deletions may publish a number that was removed long ago, for the name is
 * free again. Such a file is never the highest, so it is harmless to whoever lists *after* opening: a file is taken for
 * the live one only if no higher number is listed then. From there on its identity is proof enough, for it can be
 * succeeded only through its own seal, which whoever reads it finds.
 *
 * The listing of a directory of one or two files is one system call, which the kernel does not let a creation or a
 * removal interrupt; a larger directory would not give that.
 */

import { StoreUnavailableError } from "../errors.js";
import type { OpenFile, StoreFiles } from "./files.js";
import { generationName, generationsIn } from "./names.js";

/** Each attempt that fails takes a deletion by somebody else at just that moment. */
const MAX_ATTEMPTS = 20;

export interface LiveFile {
  readonly file: OpenFile;
  readonly path: string;
  readonly generation: number;
  /** Found by a listing just now, not by what was known before. */
  readonly listed: boolean;
}

export class Generations {
  readonly directory: string;
  readonly #files: StoreFiles;
  readonly #stem: string;

  constructor(files: StoreFiles, stem: string) {
    this.#files = files;
    this.#stem = stem;
    this.directory = files.join(stem);
  }

  /** The live file; `undefined` when there is none. */
  async openListed(mode: "read" | "append"): Promise<LiveFile | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const generation = (await this.#list()).at(-1);
      if (generation === undefined) return undefined;
      const path = this.#path(generation);
      const file = await this.#files.open(path, mode);
      if (file === undefined) continue;
      const after = await this.#list();
      if (after.at(-1) === generation) {
        // Left by a deleter that died between its two steps, or a ghost.
        if (mode === "append" && after.length > 1) await this.#removeBelow(generation);
        return { file, path, generation, listed: true };
      }
      await file.close();
    }
    throw new StoreUnavailableError("the session's files change faster than they can be listed", this.directory);
  }

  /** A file that was live when last seen, if it still is in its place: its state says whether it is sealed by now. */
  async openKnown(
    { generation, identity }: { readonly generation: number; readonly identity: string },
    mode: "read" | "append",
  ): Promise<LiveFile | undefined> {
    const path = this.#path(generation);
    const file = await this.#files.open(path, mode);
    if (file === undefined) return undefined;
    if (file.identity === identity) return { file, path, generation, listed: false };
    await file.close();
    return undefined;
  }

  /** Whether an open file is still what its path names. */
  async isInPlace({ file, path }: LiveFile): Promise<boolean> {
    return (await this.#files.identity(path)) === file.identity;
  }

  /** Publishes the first generation; `false` when there is one, or was: then this one is a ghost. */
  async begin(firstLine: Uint8Array): Promise<boolean> {
    return (await this.#files.publish(this.#path(1), firstLine)) && (await this.#list()).at(-1) === 1;
  }

  /** Puts a successor in the place of a sealed file, then removes the file. Many may do it at once, with one result. */
  async succeed({ generation }: LiveFile, firstLine: Uint8Array): Promise<void> {
    await this.#files.publish(this.#path(generation + 1), firstLine);
    await this.#removeBelow(generation + 1);
  }

  async #removeBelow(generation: number): Promise<void> {
    for (const lower of await this.#list()) {
      if (lower < generation) await this.#files.remove(this.#path(lower));
    }
  }

  async #list(): Promise<readonly number[]> {
    return generationsIn((await this.#files.entries(this.directory)) ?? []);
  }

  #path(generation: number): string {
    return this.#files.join(this.#stem, generationName(generation));
  }
}
