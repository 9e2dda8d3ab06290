import { type LeaseInfo, leaseErrorCode, supports } from "@leasehold/session-lease";
import { isUnknownSession, type SessionStore } from "@leasehold/session-store";
import { unknownSession } from "../http/http-error.js";
import type { ServerParts } from "./server-parts.js";

export interface SessionParams {
  Params: { id: string };
}

type HoldParts = Pick<ServerParts, "runs" | "lease">;

/** `unknown`: the session's lease record cannot be read, so nobody can drive it until an operator has repaired that. */
export type SessionState = "idle" | "running_here" | "running_elsewhere" | "unknown";

/** Throws the 404 of a session that does not exist, and the store's error for an id that cannot be one. */
export async function requireSession(id: string, store: SessionStore): Promise<void> {
  try {
    await store.read(id, { limit: 1 });
  } catch (error) {
    throw isUnknownSession(error) ? unknownSession() : error;
  }
}

/**
 * Who drives a session now, as far as this server can know: without leases it knows only of itself. One damaged record
 * must not keep the other sessions from being listed, so it is a state and no failure; a prompt is told what is wrong.
 */
export async function stateOf(id: string, parts: HoldParts): Promise<SessionState> {
  if (isHeldHere(id, parts)) return "running_here";
  try {
    return (await holderOf(id, parts)) === undefined ? "idle" : "running_elsewhere";
  } catch (error) {
    const code = leaseErrorCode(error);
    if (code === "corrupt" || code === "incompatible") return "unknown";
    throw error;
  }
}

/** Whether anybody holds a session now, this server or another: without leases it knows only of itself. */
export async function isHeld(id: string, parts: HoldParts): Promise<boolean> {
  return isHeldHere(id, parts) || (await holderOf(id, parts)) !== undefined;
}

/** A run that waits here waits for another server. */
function isHeldHere(id: string, { runs }: HoldParts): boolean {
  const state = runs.stateOf(id);
  return state !== undefined && state !== "waiting";
}

/** The hold on a session, where the backend can tell. That of a process that is proved to be gone holds nobody up. */
export async function holderOf(id: string, { lease }: HoldParts): Promise<LeaseInfo | undefined> {
  const info = lease !== undefined && supports(lease, "inspect") ? await lease.inspect(id) : undefined;
  return info?.holderGone === true ? undefined : info;
}
