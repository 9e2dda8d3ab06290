/**
 * Puts a server together, and takes it apart.
 *
 * The order of starting is the order of what can be wrong: the lease backend is opened and probed, the store is tied to the
 * backend's domain, the agent is made ready, and only then does anything listen. The order of ending is the reverse: runs
 * end, then the listener, the agents, the store, the lease.
 */

import type { AddressInfo } from "node:net";
import { findCommand, LeashError } from "@leasehold/leash";
import { type Clock, hostClock } from "@leasehold/session-lease";
import { type RunLogEvent, SessionRuns } from "@leasehold/session-runs";
import { JsonlSessionStore } from "@leasehold/session-store";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { Agent } from "../agent/agent.js";
import { commandAgent } from "../agent/command-agent.js";
import { echoAgent } from "../agent/echo-agent.js";
import { createApp } from "../http/create-app.js";
import { ServerMetrics } from "../metrics.js";
import type { ServerParts } from "../routes/server-parts.js";
import { BackendHealth } from "./backend-health.js";
import { tieStore } from "./lease-domain.js";
import { openBackend } from "./open-backend.js";
import { Opened } from "./opened.js";
import type { ServerOptions } from "./server-options.js";
import { StartError, UsageError } from "./usage-error.js";

export interface RunningServer {
  /** Where it listens: "http://127.0.0.1:8080". */
  readonly url: string;
  /**
   * Takes no more prompts, lets the running ones finish within `drainTimeout`, then ends them. Idempotent. Resolves when
   * nothing runs any more.
   */
  drain(): Promise<void>;
  /** Drains, then frees everything. Idempotent. */
  close(): Promise<void>;
}

/** Rejects with `UsageError` or `StartError`; then nothing is left open. */
export async function startServer(
  options: ServerOptions,
  log: Logger,
  clock: Clock = hostClock,
): Promise<RunningServer> {
  const opened = new Opened();
  try {
    return await start(options, log, clock, opened);
  } catch (error) {
    // Why it could not start is what matters, not what closing says.
    await opened.close().catch(() => undefined);
    throw error;
  }
}

async function start(options: ServerOptions, log: Logger, clock: Clock, opened: Opened): Promise<RunningServer> {
  const { lease: backend, chosen } = await openBackend(options, clock, log);
  if (backend !== undefined) opened.add(() => backend.close());
  const store = new JsonlSessionStore({ directory: options.storeDir, clock });
  opened.add(() => store.close());
  await tieStore(store, backend, options.adoptStore);
  const agent = agentFor(options, clock, log);
  opened.add(() => agent.close());
  await agent.ready();

  const health = new BackendHealth();
  const metrics = new ServerMetrics();
  const lease = backend && health.watch(backend);
  const runs = new SessionRuns({
    lease,
    ttl: options.ttl,
    renewEvery: options.renewEvery,
    above: (id) => store.highest(id),
    owner: options.owner,
    onUnsupported: chosen === "by-name" ? "refuse" : "disable",
    observer: metrics.observer,
    log: (event) => logRunEvent(log, event),
    clock,
  });
  let draining: Promise<void> | undefined;
  const drain = (): Promise<void> => {
    draining ??= runs.drain(options.drainTimeout).then(() => undefined);
    return draining;
  };
  const parts: ServerParts = {
    runs,
    store,
    agent,
    clock,
    log,
    lease,
    metrics,
    runTimeout: options.runTimeout,
    beginDrain: () => void drain(),
    isDraining: () => draining !== undefined,
    backendAnswers: () => health.answers,
  };
  metrics.readFrom({
    ...parts,
    leasesHeld: () => runs.stats().held,
    runsUnsettled: () => runs.stats().unsettled,
  });
  const app = createApp(parts, options, log);
  opened.add(() => app.close());
  await listen(app, options);

  const end = async (): Promise<void> => {
    try {
      await drain();
    } finally {
      await opened.close();
    }
  };
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(app, options.host),
    drain,
    close: () => {
      closing ??= end();
      return closing;
    },
  };
}

function agentFor({ agent }: ServerOptions, clock: Clock, log: Logger): Agent {
  if (agent === undefined) return echoAgent(clock);
  try {
    findCommand(agent[0], process.cwd(), process.env);
  } catch (error) {
    if (!(error instanceof LeashError)) throw error;
    throw new UsageError(`--agent cannot be run: ${error.message}; write a command on the PATH, or its path`);
  }
  return commandAgent({ command: agent, clock, log });
}

async function listen(app: FastifyInstance, { host, port }: ServerOptions): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "EADDRINUSE"
        ? `port ${port} is in use; choose another with --port, or 0 for any free one`
        : `cannot listen on ${host}, port ${port}: ${message}`;
    throw new StartError(why, { cause: error });
  }
}

function urlOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const ALARMING: ReadonlySet<string> = new Set([
  "lease.lost",
  "lease.in_doubt",
  "lease.release_failed",
  "lease.unsupported",
]);

function logRunEvent(log: Logger, { event, ...fields }: RunLogEvent): void {
  const { error, ...rest } = fields as { error?: unknown };
  log[ALARMING.has(event) ? "warn" : "info"]({ event, ...jsonable(rest), ...(error !== undefined && { err: error }) });
}

/** Tokens are bigint, which JSON does not know. */
function jsonable(fields: object): object {
  return JSON.parse(JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? value.toString() : value)));
}
