import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { isErrno } from "@leasehold/session-lease/host";
import { LeashError } from "./leash-error.js";

/** What execvp(3) searches when the environment has no PATH. */
const DEFAULT_PATH = "/bin:/usr/bin";

type Finding = "executable" | "not-executable" | "not-found";

function examine(file: string): Finding {
  try {
    if (!statSync(file).isFile()) return "not-executable";
    accessSync(file, constants.X_OK);
    return "executable";
  } catch (error) {
    return isErrno(error, "EACCES") ? "not-executable" : "not-found";
  }
}

/**
 * Finds what `command` would run, by the rules of execvp(3): a name with a slash is a path, from `cwd`; any other is looked
 * up in `env.PATH`. Returns what to hand to the shell's `exec`: the name as it was given wherever that means the same,
 * so that the command sees its own name.
 *
 * Throws `command-not-found` or `command-not-executable`, so that a missing command is never taken for one that exits
 * with 127. A script whose interpreter is missing is found out only by running it, and is such a 127.
 */
export function findCommand(command: string, cwd: string, env: NodeJS.ProcessEnv): string {
  if (command === "" || command.includes("\0")) {
    throw new LeashError("invalid", "the command must be a non-empty name or path without NUL");
  }
  const byPath = command.includes("/");
  const { PATH: path } = env;
  const candidates = byPath
    ? [resolve(cwd, command)]
    : (path ?? DEFAULT_PATH).split(delimiter).map((folder) => join(resolve(cwd, folder), command));
  let refused: string | undefined;
  for (const candidate of candidates) {
    const finding = examine(candidate);
    if (finding === "executable") {
      // A name like `-x` would be an option to exec; without PATH the shell has ideas of its own where to look.
      const asGiven = byPath
        ? isAbsolute(command) || !command.startsWith("-")
        : path !== undefined && !command.startsWith("-");
      return asGiven ? command : candidate;
    }
    if (finding === "not-executable") refused ??= candidate;
  }
  if (refused !== undefined) {
    throw new LeashError("command-not-executable", `${refused} is no file that this process may execute`);
  }
  throw new LeashError("command-not-found", byPath ? `there is no ${command}` : `there is no ${command} in PATH`);
}

/** Throws `invalid` unless `cwd` is a directory: Node would blame the command for it. */
export function requireDirectory(cwd: string): void {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new LeashError("invalid", `cwd is not a directory: ${cwd}`);
  }
}
