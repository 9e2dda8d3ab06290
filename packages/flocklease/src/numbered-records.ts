/**
 * Looking at a stem, and tidying it.
 *
 * A listing need not be atomic: while a record moves from N to N+1, a reader may meet neither, or an old number that a
 * crashed writer left behind. Two rules make up for that. Numbers are removed in ascending order, so that if any number is
 * gone, every lower one is; whoever saw a number too low fails to read it and looks again. And an empty listing is
 * believed only when rmdir(2), which no listing can deceive, has removed the directory.
 */

import { isErrno } from "@leasehold/session-lease/host";
import { fileError, quietly } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import { numbersIn, recordPath } from "./stem.js";

/** What a look at a stem found: the record with the highest number, something that is no record, or nothing at all. */
export type Found =
  | Readonly<{ kind: "record"; number: number; file: string; text: string }>
  | Readonly<{ kind: "foreign"; names: readonly string[] }>
  | Readonly<{ kind: "nothing" }>;

export class NumberedRecords {
  readonly #files: LeaseFiles;

  constructor(files: LeaseFiles) {
    this.#files = files;
  }

  /** What all writes that were answered before this call have left in the stem, or a later state. */
  async look(stem: string): Promise<Found> {
    for (;;) {
      const names = await this.#names(stem);
      if (names === undefined) return { kind: "nothing" };
      const number = numbersIn(names).at(-1);
      if (number !== undefined) {
        const file = recordPath(stem, number);
        const text = await this.#read(file);
        if (text !== undefined) return { kind: "record", number, file, text };
      } else if (names.length > 0) {
        return { kind: "foreign", names };
      } else if (await this.#provedEmpty(stem)) {
        return { kind: "nothing" };
      }
    }
  }

  /** The numbers in the stem, lowest first; empty if it is gone. Rejects with the errno of the listing. */
  async numbers(stem: string): Promise<number[]> {
    try {
      return numbersIn(await this.#files.list(stem));
    } catch (error) {
      if (isErrno(error, "ENOENT")) return [];
      throw error;
    }
  }

  /** Removes these numbers, given in ascending order; stops at the first that will not go, and says whether all went. */
  async remove(stem: string, numbers: readonly number[]): Promise<boolean> {
    for (const number of numbers) {
      try {
        await this.#files.unlink(recordPath(stem, number));
      } catch (error) {
        if (!isErrno(error, "ENOENT")) return false;
      }
    }
    return true;
  }

  async #names(stem: string): Promise<string[] | undefined> {
    try {
      return await this.#files.list(stem);
    } catch (error) {
      if (isErrno(error, "ENOENT")) return undefined;
      throw fileError(error, stem);
    }
  }

  async #read(file: string): Promise<string | undefined> {
    try {
      return await this.#files.read(file);
    } catch (error) {
      // ESTALE: replaced under an open handle, as network file systems say it.
      if (isErrno(error, "ENOENT", "ESTALE")) return undefined;
      throw fileError(error, file);
    }
  }

  async #provedEmpty(stem: string): Promise<boolean> {
    try {
      await this.#files.rmdir(stem);
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return true;
      if (isErrno(error, "ENOTEMPTY", "EEXIST")) return false;
      // Nobody may write here: then nothing moves either, and the listing was right.
      if (isErrno(error, "EROFS", "EACCES", "EPERM")) return true;
      throw fileError(error, stem);
    }
  }

  /** The directory too, if nothing is in it. */
  async removeStem(stem: string): Promise<void> {
    await quietly(this.#files.rmdir(stem));
  }
}
