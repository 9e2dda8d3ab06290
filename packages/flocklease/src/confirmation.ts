/**
 * Whether a record that was read counts, or is what a late write has made after its predecessor was deleted.
 *
 * A record has two names until its writer has looked: its number, and that under which it was built. The writer drops the
 * second when it has found the predecessor, or has taken the number back; if it could do neither, never. Hence:
 * - *confirmed*: it has one name; or it has two, and its predecessor is there after it was.
 * - *open*: it has two names, and its predecessor is gone. The writer has been overtaken by a deletion and is about to
 *   notice; or it is dropping both names at this moment, or was killed while it did. Nobody else can tell which.
 * - *gone*: taken back or replaced.
 *
 * An open record still tells of a hold, and a takeover may replace it, for that ends the hold either way. But no write may
 * let the hold live on: it would count, and the deletion would not.
 */

import { type Clock, LeaseUnavailableError } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { fileError } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import { recordPath } from "./stem.js";

/** Looks at an open record. */
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
      throw new LeaseUnavailableError(
        `${file} has not been confirmed by the process that wrote it; nothing was written`,
      );
    }
    await new Promise<void>((resolve) => {
      clock.schedule(resolve, PAUSE, { keepAlive: true });
    });
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
