/**
 * SessionLease in files: one host, one directory, any number of processes.
 *
 * The safety argument
 * -------------------
 * A session is a directory, its *stem*, with numbered records in it. The record with the highest number is the one that
 * counts. A write links a complete file to the number after the one it was decided upon.
 *
 * 1. *One successor.* link(2) fails if the name exists, so of all that were decided upon N only one becomes N+1. A rename
 *    would compare nothing: a process stopped before it, robbed, and continued, would overwrite its successor.
 * 2. *The number was not free by mistake.* N+1 is also free once N+2 has come and N+1 was removed. So the writer lists the
 *    stem after its link and counts its write only if N is still there and nothing is above N+1. Numbers are removed in
 *    ascending order, hence N still there means that N+1 had never been there before. If N is gone without a
 *    successor, because someone deleted it or it was forgotten, the writer takes its link back: a renewal does not
 *    bring back a deleted lease. It never takes back a link whose N is still there: that number could be given again to
 *    somebody else, while a reader builds on the first. Before it is taken back, others may read it. They may replace it,
 *    but none writes upon it so that its hold lives on, by a renewal, a request to let go or a transfer, unless its writer
 *    has confirmed it (`confirmation.ts`). Nor does anyone but the writer above a number, once its own
 *    write counts, remove the numbers below: whoever is above may be about to look for them.
 * 3. *Nothing of a write is visible before all of it.* Records are complete before they are linked, and never change.
 * 4. *First numbers.* A stem is born with its first record in it: built aside, then renamed onto the stem, which rename(2)
 *    does only if that is absent or empty. The first number is the time in ms, and a stem is forgotten only when the clock
 *    is past its number, its token and its expiry by `forgetAfter`. So a number, like a token, never comes twice, and
 *    whatever a late writer links after its stem was forgotten is below the new first number and never counts.
 *    What is deleted earlier, or cannot be read, leaves a void record that carries the numbers on. Only an older copy of the
 *    directory gives numbers again: therefore a holder that writes from memory first reads whether its number is still its own.
 *    A write that is under way while the copy is put back may still remove one of its records, which counts as deleted then.
 * 5. *Held up too long.* A token is seeded by a clock that was read before the write. If more than half of `forgetAfter`
 *    went by in between, on either clock, a higher token may have come and been forgotten: the outcome is then unknown,
 *    and not to be resolved by looking.
 * 6. *Listings may lie.* None need be atomic. Ascending removal makes a number that was seen too low unreadable, and an
 *    empty listing is believed only after rmdir(2) proved it.
 *
 * No step of this asks who has the lock of `proper-lockfile`. It is taken around each write that others may want to make
 * as well, so that contenders wait instead of writing in vain; it is waited for only shortly, and its loss goes unnoticed.
 * A holder that writes from memory, to renew or release, has no contenders and takes no lock.
 *
 * A dead process frees its lease at once, before expiry, if and only if the lease was acquired with `tiedToProcess`, the
 * record names a process of this very boot and these namespaces, and the kernel says that this process (not merely its pid)
 * can never run again. Whatever cannot be read proves nothing, and then expiry alone counts.
 *
 * Power failure: a record that changes the token is on the disk before it is answered. A renewal may be undone, and its
 * holder with it.
 *
 * What it rests on: link, rename, rmdir and unlink are atomic among the processes of one host (a local file system), those
 * processes share one wall clock, and it is not stepped back by `forgetAfter` or more.
 */

import {
  type Clock,
  casLease,
  DEFAULT_TTL,
  type FullSessionLease,
  hostClock,
  LeaseInvalidError,
  type ProcessIdentity,
} from "@leasehold/session-lease";
import { ownProcessIdentity, processLife } from "@leasehold/session-lease/host";
import { diskFiles } from "./disk-files.js";
import { FlockStore } from "./flock-store.js";
import type { LeaseFiles } from "./lease-files.js";
import { LeaseRoot } from "./lease-root.js";
import { ProperLock, type TransitionLock } from "./transition-lock.js";

/** Ms: 1 h. */
export const DEFAULT_FORGET_AFTER = 3_600_000;
/** Ms. Half of it must be far above the time that one write can take. */
const LEAST_FORGET_AFTER = 1000;

export interface FlockLeaseOptions {
  /** Where the records are, on a local file system. Made with its parents, mode 0700, at the first call. */
  readonly dir: string;
  /** Ms from 10 to 86,400,000, for acquire without a ttl of its own; 30 s unless given. */
  readonly ttl?: number | undefined;
  /** Ms, at least 1,000, for which a dead record is kept after its expiry and its token; 1 h unless given. The same in all processes. */
  readonly forgetAfter?: number | undefined;
  /** The host's, unless given. All processes that share the directory must share the clock. */
  readonly clock?: Clock | undefined;
  /** The disk, unless given: for simulators, and to stop a process between two steps. */
  readonly files?: LeaseFiles | undefined;
  /** `proper-lockfile`, unless given: for simulators. Nothing but work depends on it. */
  readonly lock?: TransitionLock | undefined;
  /** This process, and whether another can never run again. The host's kernel is asked, unless given: for simulators. */
  readonly processes?: Processes | undefined;
  /** From 0 up to, not including, 1; for jitter. */
  readonly random?: (() => number) | undefined;
}

export interface Processes {
  own(): ProcessIdentity | undefined;
  /** True only on proof. */
  isGone(process: ProcessIdentity): boolean;
}

const hostProcesses: Processes = {
  own: ownProcessIdentity,
  isGone: (process) => processLife(process) === "gone",
};

/**
 * A lease in the files of one directory. Touches nothing until the first call.
 *
 * Throws `LeaseInvalidError` for options that make no sense. Calls reject with `denied` or `unavailable` naming the path
 * when the directory cannot be used, with `unsupported` on a network file system or one without hard links, and with
 * `corrupt` naming the file when a record makes no sense.
 */
export function flocklease(options: FlockLeaseOptions): FullSessionLease {
  const { dir, ttl = DEFAULT_TTL, forgetAfter = DEFAULT_FORGET_AFTER, clock = hostClock, files = diskFiles } = options;
  const { processes = hostProcesses, random } = options;
  if (typeof dir !== "string" || dir.trim() === "" || dir.includes("\0")) {
    throw new LeaseInvalidError("dir must be the path of a directory, and not blank");
  }
  if (!Number.isInteger(forgetAfter) || forgetAfter < LEAST_FORGET_AFTER) {
    throw new LeaseInvalidError(
      `forgetAfter must be a whole number of milliseconds, at least ${LEAST_FORGET_AFTER}, not ${String(forgetAfter)}`,
    );
  }
  const root = new LeaseRoot(files, dir);
  const store = new FlockStore({ files, root, lock: options.lock ?? new ProperLock(clock), clock, forgetAfter });
  return casLease({
    name: "flocklease",
    ttl,
    forgetAfter,
    clock,
    random,
    ownProcess: () => processes.own(),
    isProcessGone: (process) => processes.isGone(process),
    load: (sessionId) => store.load(sessionId),
    swap: (sessionId, version, next) => store.swap(sessionId, version, next),
    scan: () => store.scan(),
    watch: (sessionId, onChange) => store.watch(sessionId, onChange),
    requests: store.requests,
    domain: () => store.domain(),
    close: () => store.close(),
  });
}
