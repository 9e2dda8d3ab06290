/**
 * Puts a daemon together, and takes it apart.
 *
 * The order of starting is the order of what can be wrong: the backend is opened and asked for a lease, certificates and
 * tokens are read, and only then does anything listen. Ending is the reverse: health says so first, streams end, calls under
 * way are answered or cut, then the backend is closed. Its leases stay: they belong to the clients, not to this process.
 */

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { BackendUsageError, openLease } from "@leasehold/backends";
import { type Access, fileDescriptors, LeaseServer, type ServerTls } from "@leasehold/grpcdriver";
import { type Clock, hostClock, isLeaseHeld, isLeaseInvalid, type SessionLease } from "@leasehold/session-lease";
import type { Logger } from "pino";
import { BackendHealth } from "./backend-health.js";
import type { DaemonOptions } from "./daemon-options.js";
import { StartError, UsageError } from "./start-errors.js";
import { openTokenAccess } from "./token-access.js";

/** The session that is acquired and released to see whether the backend leases at all. */
const PROBED = "leasehold:probe";
/** Ms; a daemon that dies during its probe leaves this much. */
const PROBE_TTL = 10_000;
/** Ms for the probe. */
const PROBE_TIMEOUT = 9_000;

export interface RunningDaemon {
  /** Where it listens, with the ports that were found: "127.0.0.1:40123". */
  readonly addresses: readonly string[];
  /** Answers what is under way within the shutdown timeout, then frees everything. Idempotent. */
  close(): Promise<void>;
}

/** Rejects with `UsageError` or `StartError`; then nothing is left open. */
export async function startDaemon(
  options: DaemonOptions,
  log: Logger,
  clock: Clock = hostClock,
): Promise<RunningDaemon> {
  const lease = await openBackend(options, clock);
  try {
    return await serve(options, lease, log, clock);
  } catch (error) {
    await lease.close();
    throw error;
  }
}

async function serve(options: DaemonOptions, lease: SessionLease, log: Logger, clock: Clock): Promise<RunningDaemon> {
  await probe(lease);
  const tls = options.tls && (await readTls(options.tls));
  const access = options.authTokenFile === undefined ? undefined : await readTokens(options.authTokenFile, clock, log);
  const health = new BackendHealth(clock, log);
  const addServices = (server: Server): void => {
    health.implementation.addToServer(server);
    if (options.reflection) reflection().addToServer(server);
  };
  const onCall: NonNullable<ConstructorParameters<typeof LeaseServer>[0]["onCall"]> = (call) => {
    health.note(call);
    const { path, status, ms } = call;
    log.debug({ event: "call", path, status, ms });
  };
  const server = new LeaseServer({ lease, tls, access, addServices, onCall, clock });
  const addresses: string[] = [];
  try {
    for (const address of options.listen) addresses.push(await listen(server, address));
  } catch (error) {
    await server.close(0);
    throw error;
  }
  const probing = new AbortController();
  const probed = health.probe(lease, probing.signal);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.end();
    probing.abort();
    await server.close(options.shutdownTimeout);
    await probed;
    await lease.close();
  };
  return {
    addresses,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

async function openBackend({ backend, ttl }: DaemonOptions, clock: Clock): Promise<SessionLease> {
  try {
    const { lease } = await openLease(backend, { ttl, clock });
    if (lease === undefined) throw new UsageError("--backend must name a place to keep leases in");
    return lease;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof BackendUsageError || isLeaseInvalid(error)) {
      throw new UsageError(`--backend: ${messageOf(error)}`);
    }
    throw new StartError(`the lease backend cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

async function probe(lease: SessionLease): Promise<void> {
  const owner = `leased-${randomBytes(12).toString("hex")}`;
  try {
    const ttl = lease.capabilities.ttl ? { ttl: PROBE_TTL } : {};
    await lease.release(await lease.acquire(PROBED, owner, { ...ttl, signal: AbortSignal.timeout(PROBE_TIMEOUT) }));
  } catch (error) {
    if (isLeaseHeld(error)) return;
    throw new StartError(`the lease backend cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

async function readTls({ cert, key, clientCa }: NonNullable<DaemonOptions["tls"]>): Promise<ServerTls> {
  const read = async (flag: string, path: string): Promise<Buffer> => {
    try {
      return await readFile(path);
    } catch (error) {
      throw new StartError(`${flag} ${path} cannot be read: ${messageOf(error)}`, { cause: error });
    }
  };
  return {
    cert: await read("--tls-cert", cert),
    key: await read("--tls-key", key),
    ...(clientCa !== undefined && { clientCa: await read("--tls-client-ca", clientCa) }),
  };
}

async function readTokens(path: string, clock: Clock, log: Logger): Promise<Access> {
  try {
    return await openTokenAccess(path, clock, log);
  } catch (error) {
    throw new StartError(`--auth-token-file ${path} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

async function listen(server: LeaseServer, address: string): Promise<string> {
  try {
    const port = await server.listen(address);
    return address.startsWith("unix:") ? address : address.replace(/:\d+$/, `:${port}`);
  } catch (error) {
    throw new StartError(messageOf(error), { cause: error });
  }
}

/** Fed with the compiler's own bytes: what a client is told is what the server was made of. */
function reflection(): ReflectionService {
  const files = { fileDescriptorProtos: [...fileDescriptors()] };
  return new ReflectionService({ files } as unknown as ConstructorParameters<typeof ReflectionService>[0]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
