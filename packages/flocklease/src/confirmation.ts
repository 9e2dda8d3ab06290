/**
 * Whether a record that was read counts, or is what a late write has made after its predecessor was deleted.
 *
 * A record has two names until its writer has looked: its number, and that under which it was built. The writer drops the
 * second when it has found the predecessor there, and only then removes that; or when it has taken the number back; or never,
 * if it could do neither. Hence:
 * - *confirmed*: it has one name; or it has two, and its predecessor is there after it was.
 * - *open*: it has two names, and its predecessor is gone. Its writer was overtaken by a deletion, and is about to notice,
 *   is stopped, or is dead.
 * - *gone*: taken back or replaced.
 *
 * An open record still tells of a hold, and a takeover may replace it, for that ends the hold either way. But no write may
 * let the hold live on: it would count, and the deletion would not.
 */

import { type Clock, LeaseUnavailableError, pause } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { fileError } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import { recordPath } from "./stem.js";

/** Looks at an open record: one may have fallen between two steps of its writer. */
const LOOKS = 4;
/** Ms between two of them; a writer that is not held up needs one. */
const PAUSE = 10;

/** False if the record is gone. Rejects with `unavailable` if it stays open: its writer is stopped, or dead. */
export async function isConfirmed(files: LeaseFiles, clock: Clock, stem: string, number: number): Promise<boolean> {
  const file = recordPath(stem, number);
  for (let look = 1; ; look += 1) {
    const names = await orAbsent(files.links(file), file);
    if (names === undefined) return false;
    if (names === 1) return true;
    const before = recordPath(stem, number - 1);
    if ((await orAbsent(files.stat(before), before)) !== undefined) return true;
    if (look === LOOKS) {
      throw new LeaseUnavailableError(`${file} is not confirmed by its writer; nothing was written`);
    }
    await pause(clock, PAUSE, { keepAlive: true });
  }
}

async function orAbsent<T>(answer: Promise<T>, file: string): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESTALE")) return undefined;
    throw fileError(error, file);
  }
}
