/** The one place where an errno becomes an error of the port. Contention is never among them. */

import {
  LeaseDeniedError,
  type LeaseError,
  LeaseUnavailableError,
  LeaseUnsupportedError,
} from "@leasehold/session-lease";
import { errnoOf } from "@leasehold/session-lease/host";

const SENTENCES: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left on the device",
  EDQUOT: "the disk quota is used up",
  ENOTDIR: "there is a file where a directory should be; it has been left alone",
  EISDIR: "there is a directory where a file should be; it has been left alone",
  EIO: "the disk failed",
  EMFILE: "this process has too many files open",
  ENFILE: "the system has too many files open",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "too many symbolic links",
};

const DENIED: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);
/** What link(2) answers on file systems that have no second names. */
const NO_HARD_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * The same failure as an error of the port, naming the path: `denied` or `unavailable`. What has no errno is a mistake
 * and not a failure, and is thrown as it is.
 */
export function fileError(error: unknown, path: string): LeaseError {
  const code = errnoOf(error);
  if (code === undefined) throw error;
  const message = `${path}: ${SENTENCES[code] ?? "the file system failed"} (${code})`;
  if (DENIED.has(code)) return new LeaseDeniedError(message, { cause: error });
  return new LeaseUnavailableError(message, { cause: error });
}

/** As `fileError`, for a failed link(2). */
export function linkError(error: unknown, path: string): LeaseError {
  if (!NO_HARD_LINKS.has(errnoOf(error) ?? "")) return fileError(error, path);
  return new LeaseUnsupportedError(
    `${path}: this file system makes no hard links (${errnoOf(error)}), and without them files cannot exclude each other; choose a directory on a local file system such as ext4, xfs, btrfs, APFS or tmpfs`,
    { cause: error, retryable: false },
  );
}

/** Waits for a step that only tidies: whoever comes next will do it if this one could not. */
export async function quietly(step: Promise<unknown>): Promise<boolean> {
  try {
    await step;
    return true;
  } catch {
    return false;
  }
}
