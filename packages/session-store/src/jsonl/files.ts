/**
 * The file system as this store needs it, and nothing more: eight verbs that can be simulated, step by step and crash
 * by crash. Failures are Node's errors (`code` "ENOSPC" and the like); "not there" is an answer, not a failure.
 */

export interface StoreFiles {
  /** Names in a directory, in any order; `undefined` when there is no such directory. */
  entries(directory: string): Promise<readonly string[] | undefined>;

  /** An existing regular file, to read or to read and append; `undefined` when there is none. Never creates. */
  open(path: string, mode: "read" | "append"): Promise<OpenFile | undefined>;

  /** Which file stands at `path` now; `undefined` when none. Compares with `OpenFile.identity`. */
  identity(path: string): Promise<string | undefined>;

  /**
   * Makes a file with these bytes, whole and durable, together with the directories above it; `false`, changing
   * nothing, when the path is taken. Of many callers at once exactly one is told `true`.
   */
  publish(path: string, bytes: Uint8Array): Promise<boolean>;

  /** Like `publish`, but takes the place of whatever is there, in one step. */
  replace(path: string, bytes: Uint8Array): Promise<void>;

  /** Removes a file; nothing happens when there is none. Those who have it open keep it. */
  remove(path: string): Promise<void>;

  /**
   * Calls back soon after anything in `directory` changed; `undefined` when there is no such directory.
   * Returns the function that ends it.
   */
  watch(directory: string, onChange: () => void): (() => void) | undefined;

  /** Joins names to a path below the store's directory. */
  join(...names: string[]): string;
}

export interface OpenFile {
  /** Names the file itself, whatever its path: differs from that of every other file, also of one removed before. */
  readonly identity: string;
  /** Bytes when it was opened. */
  readonly size: number;

  /**
   * One write at the end of the file as the file then is (O_APPEND): the bytes of two calls, whoever makes them, never
   * mix. Resolves with how many were written; fewer than given is a full disk, and the rest is not tried.
   */
  append(bytes: Uint8Array): Promise<number>;

  /** Up to `length` bytes from `position`; fewer only at the end of the file. */
  read(position: number, length: number): Promise<Uint8Array>;

  /** Resolves when what has been appended, by anyone, is on the disk. */
  sync(): Promise<void>;

  close(): Promise<void>;
}
