import { readFileSync } from "node:fs";
import { isErrno } from "./errno.js";

/** What /proc/PID/stat says about one process, as far as leases and leashes need it. See proc_pid_stat(5). */
export type ProcessStat = Readonly<{
  pid: number;
  /** One letter: R, S, D, T, t, Z, X, ... */
  state: string;
  /** Process group id. */
  group: number;
  /** Session id: the pid of the process that called setsid(2). */
  session: number;
  /** Threads that are still there. */
  threads: number;
  /** Clock ticks between boot and the start of the process, in decimal. */
  startTime: string;
}>;

/** Where a read found nothing to judge by: `absent` is "no such process here", `unreadable` is anything else. */
export type NoStat = "absent" | "unreadable";

const DECIMAL = /^\d+$/;

/**
 * Parses one line of /proc/PID/stat; undefined if it is not one.
 *
 * The second field is the command's name in parentheses. It may itself hold spaces, parentheses and line breaks, so the
 * fields are counted from the last `)`.
 */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const open = text.indexOf(" (");
  const close = text.lastIndexOf(") ");
  if (open < 1 || close < open) return undefined;
  const pid = text.slice(0, open);
  // Field 3 of the manual page is the first one here.
  const fields = text
    .slice(close + 2)
    .trimEnd()
    .split(" ");
  const field = (number: number): string => fields[number - 3] ?? "";
  const state = field(3);
  const numbers = [pid, field(5), field(6), field(20), field(22)];
  if (state.length !== 1 || !numbers.every((number) => DECIMAL.test(number))) return undefined;
  return {
    pid: Number(pid),
    state,
    group: Number(field(5)),
    session: Number(field(6)),
    threads: Number(field(20)),
    startTime: field(22),
  };
}

/** Reads `ROOT/PID/stat`. Synchronous: procfs answers from memory. Never throws. */
export function readProcessStat(pid: number, root = "/proc"): ProcessStat | NoStat {
  try {
    // The name may hold any byte; latin1 maps each to one character.
    return parseProcessStat(readFileSync(`${root}/${pid}/stat`, "latin1")) ?? "unreadable";
  } catch (error) {
    // ESRCH: the process went between open and read.
    return isErrno(error, "ENOENT", "ESRCH") ? "absent" : "unreadable";
  }
}

/**
 * True when nothing of the process can run any more. A zombie has only its exit code left, and where nobody reaps
 * orphans it stays for ever. A leading thread that has exited while others run also shows as Z: their count tells.
 */
export function isDead(stat: ProcessStat): boolean {
  if (stat.state === "X" || stat.state === "x") return true;
  return stat.state === "Z" && stat.threads <= 1;
}
