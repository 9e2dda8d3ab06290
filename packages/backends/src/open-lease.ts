import type { SessionLease } from "@leasehold/session-lease";
import type { Backend, BackendOptions } from "./backend.js";
import { type BackendFlags, chosenFlag } from "./backend-flags.js";
import { fileBackend } from "./file-backend.js";
import { grpcBackend, grpcsBackend } from "./grpc-backend.js";
import { k8sBackend } from "./k8s-backend.js";
import { memoryBackend } from "./memory-backend.js";
import { BackendUsageError } from "./usage-error.js";

/** What a URL can begin with. */
export const BACKENDS: readonly Backend[] = [fileBackend, grpcBackend, grpcsBackend, k8sBackend, memoryBackend];

/**
 * Whether somebody asked for this backend or the program fell back on it. A backend chosen by name that turns out not to
 * lease at all must stop the program; one found by default may be done without, once that has been said.
 */
export type Chosen = "by-name" | "by-default";

export type OpenedBackend = Readonly<{
  /** Absent: the choice was to have none. */
  lease?: SessionLease;
  /** The URL it was opened by; "none" without a lease. */
  url: string;
  chosen: Chosen;
}>;

export interface OpenLeaseOptions extends BackendOptions {
  /** The URL to open when `source` is a set of flags and none of them is given. Without it the outcome is no lease. */
  readonly byDefault?: string | undefined;
}

/**
 * Opens the lease that a URL or a set of flags stands for, loading the adapter asked for and no other.
 *
 * Rejects with `BackendUsageError` for a URL of no known scheme and for two flags at once (naming both), and with the
 * adapter's `LeaseError` for options it refuses. Nothing is asked of the backend yet, but of a lease server: what it can do.
 */
export async function openLease(
  source: string | BackendFlags,
  { byDefault, ...options }: OpenLeaseOptions = {},
): Promise<OpenedBackend> {
  const choice = typeof source === "string" ? { url: source, chosen: "by-name" as const } : choose(source, byDefault);
  if (choice.url === undefined) return { url: "none", chosen: choice.chosen };
  const { backend, place } = recognise(choice.url);
  return { lease: await backend.open(place, options), url: choice.url, chosen: choice.chosen };
}

function choose(flags: BackendFlags, byDefault: string | undefined): { url: string | undefined; chosen: Chosen } {
  const given = chosenFlag(flags);
  if (given === undefined) return { url: byDefault, chosen: "by-default" };
  return { url: given.flag.url(given.value, flags), chosen: "by-name" };
}

function recognise(url: string): { backend: Backend; place: string } {
  const colon = url.indexOf(":");
  const scheme = colon < 0 ? undefined : url.slice(0, colon).toLowerCase();
  const backend = BACKENDS.find((known) => known.scheme === scheme);
  if (backend !== undefined) return { backend, place: url.slice(colon + 1) };
  const examples = BACKENDS.map(({ example }) => example).join(" or ");
  // The rest of a URL may hold a password; its scheme cannot.
  const seen = scheme === undefined ? "a lease URL without a scheme" : `the scheme ${JSON.stringify(scheme)}`;
  throw new BackendUsageError(`${seen} names no backend; write ${examples}`);
}
