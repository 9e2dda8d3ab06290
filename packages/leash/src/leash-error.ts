/**
 * Why the leash refused or gave up. The command's own failure is never one of these: it is an exit code.
 *
 * - `invalid`: an argument that cannot be meant (the message names it and what to write instead).
 * - `command-not-found`, `command-not-executable`: found out before anything was started.
 * - `expired`: validity was over before the command could start; it never ran.
 * - `unavailable`: the host would start no process, or no watcher.
 * - `unwatched`: the watcher was lost and none could be put in its place; the group was killed.
 * - `not-gone`: a leftover group was killed and was still there when the time given for it was over.
 * - `unsupported`: this platform has no process groups.
 * - `closed`: the leash was closed.
 */
export type LeashErrorCode =
  | "invalid"
  | "command-not-found"
  | "command-not-executable"
  | "expired"
  | "unavailable"
  | "unwatched"
  | "not-gone"
  | "unsupported"
  | "closed";

export class LeashError extends Error {
  override readonly name: string = "LeashError";
  readonly code: LeashErrorCode;

  constructor(code: LeashErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
