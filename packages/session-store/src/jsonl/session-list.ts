/** Which sessions a directory holds, in the order of their ids. */

import { compareBytes } from "@leasehold/session-lease";
import { storeErrorCode } from "../errors.js";
import type { StoreFiles } from "./files.js";
import { readLines } from "./lines.js";
import { generationName, generationsIn, isStem, stemOf } from "./names.js";
import { decodeRecord } from "./record.js";

/** How many files are opened at once to learn the ids in them. */
const PARALLEL = 16;

/** What is wrong with one session's files is no reason to keep the others from being listed. */
export function isOneSessionsFault(error: unknown): boolean {
  const code = storeErrorCode(error);
  return code === "corrupt" || code === "incompatible" || code === "denied";
}

/**
 * Stems are hashes, so the ids have to be read once from the files' first lines; they are remembered, for an id never
 * changes. Memory grows with the number of sessions in the directory.
 */
export class SessionList {
  readonly #files: StoreFiles;
  #ids = new Map<string, string>();

  constructor(files: StoreFiles) {
    this.#files = files;
  }

  /** Ids of all logs, deleted ones included, ordered by UTF-8 bytes; and how many directories could not be read. */
  async ids(): Promise<{ ids: string[]; unreadable: number }> {
    const stems = ((await this.#files.entries(this.#files.join())) ?? []).filter(isStem);
    const known = new Map<string, string>();
    let unreadable = 0;
    for (let from = 0; from < stems.length; from += PARALLEL) {
      const group = stems.slice(from, from + PARALLEL);
      const ids = await Promise.all(group.map(async (stem) => this.#ids.get(stem) ?? (await this.#readId(stem))));
      for (const [index, stem] of group.entries()) {
        const id = ids[index];
        if (typeof id === "string") known.set(stem, id);
        else if (id === null) unreadable++;
      }
    }
    this.#ids = known;
    return { ids: [...known.values()].sort(compareBytes), unreadable };
  }

  /** `undefined` for a log that is absent or on its way, `null` for files that cannot be read as a session's. */
  async #readId(stem: string): Promise<string | undefined | null> {
    try {
      return await this.#firstId(stem);
    } catch (error) {
      if (isOneSessionsFault(error)) return null;
      throw error;
    }
  }

  async #firstId(stem: string): Promise<string | undefined | null> {
    const generation = generationsIn((await this.#files.entries(this.#files.join(stem))) ?? []).at(-1);
    if (generation === undefined) return undefined;
    const file = await this.#files.open(this.#files.join(stem, generationName(generation)), "read");
    if (file === undefined) return undefined;
    try {
      for await (const { lines } of readLines(file, 0)) {
        const first = lines[0]?.bytes;
        if (first === undefined) continue;
        const record = decodeRecord(first);
        return record !== undefined && record.kind !== "event" && stemOf(record.id) === stem ? record.id : null;
      }
      return null;
    } finally {
      await file.close();
    }
  }
}
