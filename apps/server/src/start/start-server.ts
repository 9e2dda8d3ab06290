/**
 * Puts a server together, and takes it apart.
 *
 * The order of starting is the order of what can be wrong: the lease backend is opened and probed, the store is tied to the
 * backend's domain, the agent is made ready, and only then does anything listen. The order of ending is the reverse: runs
 * end, then the listener, the agents, the store, the lease.
 */

import { findCommand, LeashError } from "@leasehold/leash";
import { type Clock, hostClock } from "@leasehold/session-lease";
import { SessionRuns } from "@leasehold/session-runs";
import { JsonlSessionStore } from "@leasehold/session-store";
import type { Logger } from "pino";
import type { Agent } from "../agent/agent.js";
import { commandAgent } from "../agent/command-agent.js";
import { echoAgent } from "../agent/echo-agent.js";
import { Feeds } from "../follow/feeds.js";
import { untilUnheld } from "../follow/hold-watch.js";
import { ServerMetrics } from "../metrics.js";
import type { ServerParts } from "../routes/server-parts.js";
import { holderOf, isHeld } from "../routes/session-state.js";
import { Once } from "../run/once.js";
import { RequestIndex } from "../run/request-index.js";
import { MARK_KEY } from "../run/request-key.js";
import { WaitingRoom } from "../run/waiting-room.js";
import { BackendHealth } from "./backend-health.js";
import { tieStore } from "./lease-domain.js";
import { openListeners, type Urls } from "./listeners.js";
import { openBackend } from "./open-backend.js";
import { Opened } from "./opened.js";
import { logRunEvent } from "./run-log.js";
import type { ServerOptions } from "./server-options.js";
import { UsageError } from "./usage-error.js";

export interface RunningServer extends Urls {
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
  const { lease: backend, chosen, domain } = await openBackend(options, clock, log);
  if (backend !== undefined) opened.add(() => backend.close());
  const store = new JsonlSessionStore({ directory: options.storeDir, clock });
  opened.add(() => store.close());
  await tieStore(store, domain, options.adoptStore);
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
    advertiseUrl: options.advertiseUrl,
    maxHold: options.runTimeout,
    idleTimeout: options.runIdleTimeout,
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
  const holds = { runs, lease };
  const held = { lease, clock, isHeld: (id: string) => isHeld(id, holds) };
  const feeds = new Feeds({ store, clock, untilUnheld: (id, signal) => untilUnheld(id, held, signal) });
  opened.add(() => feeds.close());
  const requests = new RequestIndex(store);
  const once = new Once({
    index: requests,
    clock,
    markOfHolder: async (id) => (await holderOf(id, holds))?.metadata[MARK_KEY],
  });
  const parts: ServerParts = {
    runs,
    store,
    agent,
    clock,
    log,
    lease,
    feeds,
    once,
    waitingRoom: new WaitingRoom(),
    requests,
    metrics,
    beginDrain: () => void drain(),
    isDraining: () => draining !== undefined,
    backendAnswers: () => health.answers,
  };
  metrics.readFrom({
    ...parts,
    runStats: () => runs.stats(),
    followers: () => feeds.followers,
  });
  const urls = await openListeners(parts, options, opened);

  const end = async (): Promise<void> => {
    try {
      await drain();
    } finally {
      await opened.close();
    }
  };
  let closing: Promise<void> | undefined;
  return {
    ...urls,
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
