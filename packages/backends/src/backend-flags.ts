/**
 * The command-line flags that choose a backend, as data: a program declares them from here, so that every program means
 * the same by them. They exclude each other.
 */

import { BackendUsageError } from "./usage-error.js";

export interface BackendFlag {
  /** Without the dashes. */
  readonly name: keyof BackendFlags;
  readonly argument: string;
  readonly meaning: string;
  /** The URL that the flag's value stands for; undefined: no lease at all. Throws `BackendUsageError`. */
  url(value: string): string | undefined;
}

/** The values given, by flag. */
export type BackendFlags = Readonly<{
  "session-lease-dir"?: string | undefined;
  "session-lease"?: string | undefined;
}>;

export const BACKEND_FLAGS: readonly BackendFlag[] = [
  {
    name: "session-lease-dir",
    argument: "PATH",
    meaning: "keep leases in files of this directory, shared by the processes of one host",
    url: (path) => {
      if (path.trim() === "") throw new BackendUsageError("--session-lease-dir names no directory; write a path");
      return `file:${path.startsWith("//") ? path.replace(/^\/+/, "/") : path}`;
    },
  },
  {
    name: "session-lease",
    argument: "none",
    meaning: "none: run without leases, excluding nobody",
    url: (kind) => {
      if (kind === "none") return undefined;
      throw new BackendUsageError(
        `--session-lease takes none and nothing else, not ${JSON.stringify(kind)}; a directory is named by --session-lease-dir PATH`,
      );
    },
  },
];

/** The one flag that was given, or undefined. Throws `BackendUsageError` naming the first two when there are several. */
export function chosenFlag(flags: BackendFlags): { flag: BackendFlag; value: string } | undefined {
  const given = BACKEND_FLAGS.flatMap((flag) => {
    const value = flags[flag.name];
    return value === undefined ? [] : [{ flag, value }];
  });
  const [first, second] = given;
  if (first !== undefined && second !== undefined) {
    throw new BackendUsageError(
      `--${first.flag.name} and --${second.flag.name} each choose where leases are kept; give one of them`,
    );
  }
  return first;
}
