/**
 * Telling whether one particular process of this host still lives.
 *
 * A pid names nobody: it is given again, sometimes within a second. A process is named by its pid, the tick in which it
 * started, the boot in which those ticks are counted, and the PID and time namespaces in which both numbers are true.
 *
 * "gone" is said only on proof, because a lease is taken over on the strength of it: same boot, same namespaces, and the
 * process is a zombie, or another one has its pid, or the kernel itself says that the pid is nobody's. An entry missing
 * from /proc is no proof: a /proc mounted with `hidepid` leaves out the living processes of other users.
 * Whatever cannot be read is "unknown", and then only time decides.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { isErrno } from "./errno.js";
import type { ProcessIdentity } from "./lease.js";
import { isDead, readProcessStat } from "./process-stat.js";

/** Whether a pid is anybody's, asked of the kernel without /proc. */
export type PidProbe = (pid: number) => "present" | "absent" | "unknown";

/** Where the answers come from. Everything defaults to this host; tests put something else in its place. */
export type ProcessSource = Readonly<{
  /** Where procfs is mounted. Default `/proc`. */
  root?: string;
  /** Who is asking: boot and namespaces are compared with this. Default: `ownProcessIdentity()`. */
  self?: ProcessIdentity | undefined;
  /** Default: signal 0. */
  probe?: PidProbe;
}>;

/** See `processLife`. */
export type ProcessLife = "alive" | "gone" | "unknown";

const signalZero: PidProbe = (pid) => {
  try {
    process.kill(pid, 0);
    return "present";
  } catch (error) {
    return isErrno(error, "ESRCH") ? "absent" : "unknown";
  }
};

/**
 * Reads the identity of process `pid`, which must be in the caller's own PID namespace; undefined where `root` cannot
 * tell (no procfs, or one that belongs to another PID namespace) and when there is no such process.
 */
export function readProcessIdentity(pid: number, root = "/proc"): ProcessIdentity | undefined {
  try {
    // A procfs of another PID namespace, bind-mounted here, counts differently: its `self` gives it away.
    if (readlinkSync(`${root}/self`) !== String(process.pid)) return undefined;
    const stat = readProcessStat(pid, root);
    if (typeof stat === "string") return undefined;
    return {
      pid,
      startTime: stat.startTime,
      bootId: readFileSync(`${root}/sys/kernel/random/boot_id`, "utf8").trim(),
      pidNamespace: readlinkSync(`${root}/self/ns/pid`),
      timeNamespace: readTimeNamespace(root),
    };
  } catch {
    return undefined;
  }
}

function readTimeNamespace(root: string): string {
  try {
    return readlinkSync(`${root}/self/ns/time`);
  } catch (error) {
    // Kernels before 5.6 have none, and then all processes of the boot share one time.
    if (isErrno(error, "ENOENT")) return "none";
    throw error;
  }
}

let own: { readonly identity: ProcessIdentity | undefined } | undefined;

/** The identity of this process, read once; undefined where /proc cannot tell, as on macOS. */
export function ownProcessIdentity(): ProcessIdentity | undefined {
  own ??= { identity: readProcessIdentity(process.pid) };
  return own.identity;
}

/** True when pids and start times of both mean the same thing: same boot, same PID namespace, same time namespace. */
export function sharesProcessSpace(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.bootId === b.bootId && a.pidNamespace === b.pidNamespace && a.timeNamespace === b.timeNamespace;
}

/**
 * Whether the process that `identity` names still lives. Synchronous, never throws.
 *
 * - `alive`: it is there, with that start time, and no zombie.
 * - `gone`: it can never run again.
 * - `unknown`: another host, boot or namespace, or nothing here could be read. Not evidence of anything.
 */
export function processLife(identity: ProcessIdentity, source: ProcessSource = {}): ProcessLife {
  const self = "self" in source ? source.self : ownProcessIdentity();
  if (self === undefined || !sharesProcessSpace(identity, self)) return "unknown";
  // Zero and negative numbers would address process groups.
  if (!Number.isSafeInteger(identity.pid) || identity.pid < 1) return "unknown";
  const stat = readProcessStat(identity.pid, source.root);
  if (typeof stat !== "string") {
    return stat.startTime === identity.startTime && !isDead(stat) ? "alive" : "gone";
  }
  if (stat === "unreadable") return "unknown";
  return (source.probe ?? signalZero)(identity.pid) === "absent" ? "gone" : "unknown";
}
