/**
 * A process that exists, leads a session and a group of its own, and does nothing until its gate is opened.
 *
 * It is a shell that waits for one line on descriptor 3 before it replaces itself with the command. The other end of that
 * descriptor is in the holder alone. So if the holder dies at any moment before it writes the line, the shell reads end of
 * file and exits: what has not been registered has not run.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { LeashError } from "./leash-error.js";

/** One of the command's three standard streams, as for `child_process.spawn`. */
export type Stdio = "pipe" | "ignore" | "inherit" | number | Readable | Writable;

/** The exit code of a gate that was never opened. */
const NEVER_OPENED = 125;

const GATE = `IFS= read -r _ <&3 || exit ${NEVER_OPENED}; exec 3<&-; exec "$@"`;

export interface GatedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Lets the command run. */
  open(): void;
  /** Closes the gate for good: the shell exits without having run anything. */
  abandon(): void;
}

export interface GateOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdio: readonly [Stdio, Stdio, Stdio];
}

/**
 * Starts the shell. Rejects `unavailable` when the host starts no process, as at its limit of them, and `invalid` when
 * Node refuses an argument or a variable, such as one with NUL.
 */
export async function startGated(
  command: string,
  args: readonly string[],
  options: GateOptions,
): Promise<GatedProcess> {
  const child = spawnShell(command, args, options);
  const gate = child.stdio?.[3] as Writable | null | undefined;
  // EPIPE: the shell was killed before the gate was opened; its exit says so.
  gate?.on("error", () => {});
  const { pid } = child;
  if (pid === undefined || !gate) {
    const cause = await new Promise((resolve) => child.once("error", resolve));
    throw new LeashError("unavailable", "no process could be started for the command", { cause });
  }
  // Later "error" events tell of signals that could not be sent, and the leash sends its own.
  child.on("error", () => {});
  return {
    child,
    pid,
    open: () => {
      gate.end("\n", () => gate.destroy());
    },
    abandon: () => {
      gate.destroy();
    },
  };
}

function spawnShell(command: string, args: readonly string[], options: GateOptions): ChildProcess {
  try {
    return spawn("/bin/sh", ["-c", GATE, "sh", command, ...args], {
      cwd: options.cwd,
      env: options.env,
      // setsid(2): the pid is the id of a new session and of a new group in it.
      detached: true,
      stdio: [...options.stdio, "pipe"],
    });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // E2BIG and its like are thrown, the commoner failures of fork(2) are emitted.
    throw new LeashError(code?.startsWith("ERR_") ? "invalid" : "unavailable", message, { cause });
  }
}
