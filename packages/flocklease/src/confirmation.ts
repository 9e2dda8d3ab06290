/**
 * Whether a record that was read counts, or is what a late write has made after its predecessor was deleted.
 *
 * A record has two names until its writer has looked: its number, and that under which it was built. The writer drops the
 * second when it has found the predecessor there, and only then removes that; or when it has taken the number back; or never,
 * if it could do neither. Hence:
 * - *confirmed*: it has one name; or it has more, and its predecessor is there after it was, or that under which it was
 *   built is not among them: a backup made of hard links (`cp -al`) gives every record another name for good.
 * - *open*: its predecessor is gone, and that under which it was built is not. Its writer was overtaken by a deletion, and is
 *   about to notice, is stopped, or is dead.
 * - *gone*: taken back or replaced.
 *
 * An open record still tells of a hold, and a takeover may replace it, for that ends the hold either way. But no write may
 * let the hold live on: it would count, and the deletion would not.
 */

import path from "node:path";
import { type Clock, LeaseUnavailableError, pause } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { fileError } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import { recordPath } from "./stem.js";

/** Looks at an open record: one may have fallen between two steps of its writer. */
const LOOKS = 4;
/** Ms between two of them; a writer that is not held up needs one. */
const PAUSE = 10;

/**
 * `place`: where the stem's records are built. False if the record is gone. Rejects with `unavailable` if it stays open: its
 * writer is stopped, or dead.
 */
export async function isConfirmed(
  { files, clock }: Readonly<{ files: LeaseFiles; clock: Clock }>,
  place: string,
  stem: string,
  number: number,
): Promise<boolean> {
  const file = recordPath(stem, number);
  const before = recordPath(stem, number - 1);
  for (let look = 1; ; look += 1) {
    const found = await orAbsent(files.inode(file), file);
    if (found === undefined) return false;
    if (found.links === 1) return true;
    if ((await orAbsent(files.stat(before), before)) !== undefined) return true;
    if (look === LOOKS) {
      if (await isNamedIn(files, place, found.id)) {
        throw new LeaseUnavailableError(`${file} is not confirmed by its writer; nothing was written`);
      }
      // The number is taken back before the other name is dropped.
      return (await orAbsent(files.inode(file), file)) !== undefined;
    }
    await pause(clock, PAUSE, { keepAlive: true });
  }
}

/** Whether a name in the directory is of this file, and has been while this looked: the name of an open record never moves. */
async function isNamedIn(files: LeaseFiles, directory: string, id: string): Promise<boolean> {
  for (const name of (await orAbsent(files.list(directory), directory)) ?? []) {
    const file = path.join(directory, name);
    if ((await orAbsent(files.inode(file), file))?.id === id) return true;
  }
  return false;
}

async function orAbsent<T>(answer: Promise<T>, file: string): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESTALE")) return undefined;
    throw fileError(error, file);
  }
}
