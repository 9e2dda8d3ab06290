import { type ProcessIdentity, readProcessIdentity } from "@leasehold/session-lease/host";
import { LeashError } from "./leash-error.js";

/**
 * Names one process group for the whole of its life. Plain JSON: write it down before the command starts, and a later
 * holder can end what is left of it (`killLeftover`).
 */
export type GroupIdentity = Readonly<{
  /** Process group id and session id: the pid of the leader. */
  id: number;
  /** The value of `LEASEHOLD_LEASH` in the environment that the group started with: random, no secret. */
  mark: string;
  /** Who leads or led the group; absent where /proc cannot tell. */
  leader?: ProcessIdentity | undefined;
}>;

/** The environment variable that marks the processes of a group. */
export const MARK_VARIABLE = "LEASEHOLD_LEASH";

/** The identity of the group that `pid`, a child just started in a session of its own, leads. */
export function identifyGroup(pid: number, mark: string): GroupIdentity {
  const leader = readProcessIdentity(pid);
  return leader === undefined ? { id: pid, mark } : { id: pid, mark, leader };
}

function isProcessIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== "object" || value === null) return false;
  const { pid, startTime, bootId, pidNamespace, timeNamespace } = value as Record<keyof ProcessIdentity, unknown>;
  return (
    Number.isSafeInteger(pid) && [startTime, bootId, pidNamespace, timeNamespace].every((s) => typeof s === "string")
  );
}

/**
 * True for a group that may be signalled. Ids 0 and 1 are refused above all: signalling group 0 is signalling oneself,
 * and the negative of 1 addresses every process of the host.
 */
export function isGroupIdentity(value: unknown): value is GroupIdentity {
  if (typeof value !== "object" || value === null) return false;
  const { id, mark, leader } = value as Record<keyof GroupIdentity, unknown>;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id <= 1) return false;
  if (typeof mark !== "string" || mark.length === 0) return false;
  return leader === undefined || (isProcessIdentity(leader) && leader.pid === id);
}

/** Throws `invalid` for anything that is not a group's identity, such as a damaged line of a log. */
export function requireGroupIdentity(value: unknown): GroupIdentity {
  if (isGroupIdentity(value)) return value;
  throw new LeashError("invalid", "not the identity of a process group: { id > 1, mark, leader? } as spawn gave it");
}
