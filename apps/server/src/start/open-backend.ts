/**
 * Opens the lease backend and asks it once, so that a server which cannot lease says so at its start and not at its first
 * prompt.
 */

import { randomUUID } from "node:crypto";
import { BackendUsageError, type OpenedBackend, openLease as openByFlags } from "@leasehold/backends";
import {
  type Clock,
  isLeaseHeld,
  isLeaseInvalid,
  isLeaseUnsupported,
  pause,
  type SessionLease,
} from "@leasehold/session-lease";
import type { Logger } from "pino";
import { domainOf, UNLEASED } from "./lease-domain.js";
import type { ServerOptions } from "./server-options.js";
import { StartError, UsageError } from "./usage-error.js";

type OpenLease = typeof openByFlags;

/** The session that is acquired and released to see whether the backend leases at all. The same for every server. */
const PROBE = "leasehold:probe";
/** Ms for the probe. With the time to close, less than the ten seconds in which a server starts or says why not. */
const PROBE_TIMEOUT = 9_000;
/** Ms to wait for a backend that cannot be used to be closed. */
const CLOSE_TIMEOUT = 500;
/** Ms; a server that dies during its probe leaves this much. */
const PROBE_TTL = 10_000;

/** The directory of the locks that belong to a store of files, and are used when no backend is named. */
export function locksBeside(storeDir: string): string {
  return `file:${storeDir.replace(/\/+$/, "")}/.session-leases`;
}

/** A backend, and the domain of its leases. */
export type UsableBackend = OpenedBackend & Readonly<{ domain: string }>;

/**
 * Resolves to a backend that has granted, released and told its domain, or has no leases by choice. A backend that nobody
 * named and that cannot lease at all is done without, aloud. Rejects within ten seconds, with `UsageError`, or with
 * `StartError` saying why.
 */
export async function openBackend(
  options: ServerOptions,
  clock: Clock,
  log: Logger,
  openLease: OpenLease = openByFlags,
): Promise<UsableBackend> {
  const opened = await open(options, clock, openLease);
  const { lease, url, chosen } = opened;
  if (lease === undefined) {
    log.warn({ event: "lease.unleased" }, "no leases: nothing keeps another server from driving the same sessions");
    return { ...opened, domain: UNLEASED };
  }
  try {
    return { ...opened, domain: await probe(lease, url, clock) };
  } catch (error) {
    // Closing waits for calls under way, and a backend that has not answered the probe may never answer them.
    await Promise.race([lease.close(), pause(clock, CLOSE_TIMEOUT)]);
    if (isLeaseUnsupported(error) && chosen === "by-default") {
      log.warn({ event: "lease.unleased", err: error }, "file locks do not work here: going on without leases");
      return { url: "none", chosen, domain: UNLEASED };
    }
    throw new StartError(`the lease backend ${url} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

async function open(options: ServerOptions, clock: Clock, openLease: OpenLease): Promise<OpenedBackend> {
  try {
    return await openLease(options.backend, { ttl: options.ttl, clock, byDefault: locksBeside(options.storeDir) });
  } catch (error) {
    if (error instanceof BackendUsageError || isLeaseInvalid(error)) throw new UsageError(messageOf(error));
    throw new StartError(`the lease backend cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

/** Resolves with the domain. One deadline for all that is asked, whether or not the backend heeds a signal. */
async function probe(lease: SessionLease, url: string, clock: Clock): Promise<string> {
  const cut = new AbortController();
  return await new Promise((resolve, reject) => {
    const timer = clock.schedule(() => {
      const error = new Error(`no answer within ${PROBE_TIMEOUT / 1_000} s`);
      reject(error);
      cut.abort(error);
    }, PROBE_TIMEOUT);
    ask(lease, url, cut.signal)
      .then(resolve, reject)
      .finally(() => timer.cancel());
  });
}

async function ask(lease: SessionLease, url: string, signal: AbortSignal): Promise<string> {
  try {
    const held = await lease.acquire(PROBE, `probe-${randomUUID()}`, { signal, ttl: PROBE_TTL, tiedToProcess: true });
    await lease.release(held, { signal });
  } catch (error) {
    // Another server's probe: the backend answers.
    if (!isLeaseHeld(error)) throw error;
  }
  return await domainOf(lease, url);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
