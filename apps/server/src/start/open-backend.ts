/**
 * Opens the lease backend and asks it once, so that a server which cannot lease says so at its start and not at its first
 * prompt.
 */

import { randomUUID } from "node:crypto";
import { BackendUsageError, type OpenedBackend, openLease } from "@leasehold/backends";
import {
  type Clock,
  isLeaseHeld,
  isLeaseInvalid,
  isLeaseUnsupported,
  pause,
  type SessionLease,
} from "@leasehold/session-lease";
import type { Logger } from "pino";
import type { ServerOptions } from "./server-options.js";
import { StartError, UsageError } from "./usage-error.js";

/** The session that is acquired and released to see whether the backend leases at all. The same for every server. */
const PROBE = "leasehold:probe";
/** Ms for the probe. */
const PROBE_TIMEOUT = 9_000;
/** Ms to wait for a backend that cannot be used to be closed. */
const CLOSE_TIMEOUT = 500;
/** Ms; a server that dies during its probe leaves this much. */
const PROBE_TTL = 10_000;

/** The directory of the locks that belong to a store of files, and are used when no backend is named. */
export function locksBeside(storeDir: string): string {
  return `file:${storeDir.replace(/\/+$/, "")}/.session-leases`;
}

/**
 * Resolves to a backend that has granted and released, or has none by choice. A backend that nobody named and that
 * cannot lease at all is done without, aloud. Rejects with `UsageError`, or with `StartError` saying why.
 */
export async function openBackend(options: ServerOptions, clock: Clock, log: Logger): Promise<OpenedBackend> {
  const opened = await open(options, clock);
  const { lease, url, chosen } = opened;
  if (lease === undefined) {
    log.warn({ event: "lease.unleased" }, "no leases: nothing keeps another server from driving the same sessions");
    return opened;
  }
  try {
    await probe(lease, clock);
    return opened;
  } catch (error) {
    // Closing waits for calls under way, and a backend that has not answered the probe may never answer them.
    await Promise.race([lease.close(), pause(clock, CLOSE_TIMEOUT)]);
    if (isLeaseUnsupported(error) && chosen === "by-default") {
      log.warn({ event: "lease.unleased", err: error }, "file locks do not work here: going on without leases");
      return { url: "none", chosen };
    }
    throw new StartError(`the lease backend ${url} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

async function open(options: ServerOptions, clock: Clock): Promise<OpenedBackend> {
  try {
    return await openLease(options.backend, { ttl: options.ttl, clock, byDefault: locksBeside(options.storeDir) });
  } catch (error) {
    throw error instanceof BackendUsageError || isLeaseInvalid(error) ? new UsageError(messageOf(error)) : error;
  }
}

async function probe(lease: SessionLease, clock: Clock): Promise<void> {
  const cut = new AbortController();
  const timer = clock.schedule(
    () => cut.abort(new Error(`no answer within ${PROBE_TIMEOUT / 1_000} s`)),
    PROBE_TIMEOUT,
  );
  try {
    const held = await lease.acquire(PROBE, `probe-${randomUUID()}`, {
      signal: cut.signal,
      ttl: PROBE_TTL,
      tiedToProcess: true,
    });
    await lease.release(held, { signal: cut.signal });
  } catch (error) {
    // Another server's probe: the backend answers.
    if (isLeaseHeld(error)) return;
    throw cut.signal.aborted ? cut.signal.reason : error;
  } finally {
    timer.cancel();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
