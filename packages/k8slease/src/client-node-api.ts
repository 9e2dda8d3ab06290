/**
 * The calls through `@kubernetes/client-node`, versions 1.4 and 2: it finds the configuration and applies it to every
 * request (credentials, rotated or made by a plugin; CA, client certificate, server name, proxy). The connection is ours to
 * keep: the client makes an agent for each request, hence a TLS handshake; of those that would connect in the same way the
 * first is kept alive and used for all.
 */

import { type Agent, request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { hostClock } from "@leasehold/session-lease";
import { exchange } from "./exchange.js";
import { type ApiReply, type LeaseApi, type LeaseRequest, UnansweredError } from "./lease-api.js";
import { renderRequest } from "./lease-http.js";

/** Connections at once; what is more waits, within its deadline. */
const MOST_SOCKETS = 64;
/** Ms after which an idle connection is ended, before a load balancer does it unasked. */
const IDLE = 30_000;
/** Ms. */
const APPLIED_FOR = 1000;

export interface ClusterOptions {
  /** Path of a kubeconfig. Unless given: `KUBECONFIG`, `~/.kube/config`, or the service account of the pod, whichever is there first. */
  readonly kubeconfig?: string | undefined;
  /** Of the kubeconfig; its current one unless given. */
  readonly context?: string | undefined;
  /** That of the context (in a pod: the pod's) unless given, and otherwise `default`. */
  readonly namespace?: string | undefined;
  /** A configuration already loaded, instead of all these. */
  readonly kubeConfig?: KubeConfig | undefined;
}

type Cluster = Readonly<{ config: KubeConfig; server: URL; namespace: string }>;
type Kept = Readonly<{ key: string; agent: Agent }>;
/** What the client fills in. */
type Applied = RequestOptions & { headers?: OutgoingHttpHeaders };

/** Loads the client, and reads the configuration, at the first request. */
export function clientNodeApi(options: ClusterOptions = {}): LeaseApi {
  return new ClientNodeApi(options);
}

class ClientNodeApi implements LeaseApi {
  readonly #options: ClusterOptions;
  #cluster: Promise<Cluster> | undefined;
  #kept: Kept | undefined;
  #applied: Readonly<{ config: KubeConfig; options: Applied; at: number }> | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  async namespace(): Promise<string> {
    return (await this.#open()).namespace;
  }

  async send(request: LeaseRequest, signal: AbortSignal): Promise<ApiReply> {
    const reply = await this.#send(await this.#open(), request, signal);
    if (reply.status !== 401) return reply;
    // The client reads a token file once a minute. One that was rotated, and the old one revoked, in between is read now.
    this.#cluster = undefined;
    return this.#send(await this.#open(), request, signal);
  }

  close(): void {
    this.#kept?.agent.destroy();
    this.#kept = undefined;
    this.#applied = undefined;
  }

  /** A configuration that could not be read is read again at the next request. */
  #open(): Promise<Cluster> {
    this.#cluster ??= openCluster(this.#options).catch((error: unknown) => {
      this.#cluster = undefined;
      throw error;
    });
    return this.#cluster;
  }

  async #send({ config, server, namespace }: Cluster, request: LeaseRequest, signal: AbortSignal): Promise<ApiReply> {
    const { headers, ...applied } = await this.#apply(config);
    const { method, path, body } = renderRequest(request, namespace);
    const target: RequestOptions = {
      ...applied,
      headers: { ...headers, ...describing(body) },
      protocol: server.protocol,
      hostname: server.hostname.replace(/^\[|\]$/g, ""),
      port: server.port,
      path: server.pathname.replace(/\/$/, "") + path,
      method,
    };
    const send = server.protocol === "http:" ? httpRequest : httpsRequest;
    return exchange((onResponse) => send(target, onResponse), body, signal);
  }

  /** What the client fills in, with the agent that is kept. It holds for a moment, since reading it anew costs a file or two. */
  async #apply(config: KubeConfig): Promise<Applied> {
    const now = hostClock.monotonic();
    if (this.#applied?.config === config && now - this.#applied.at < APPLIED_FOR) return this.#applied.options;
    const applied: Applied = { headers: {} };
    try {
      await config.applyToHTTPSOptions(applied);
    } catch (cause) {
      throw new UnansweredError(`the credentials cannot be had: ${messageOf(cause)}`, { sent: false, cause });
    }
    const options = { ...applied, headers: trimmed(applied.headers ?? {}), agent: this.#keep(applied) };
    this.#applied = { config, options, at: now };
    return options;
  }

  /** The agent kept, if the one that the client made for this request would connect in the same way. */
  #keep(applied: Applied): Agent | undefined {
    if (typeof applied.agent !== "object") return undefined;
    const key = IDENTITY.map((option) => textOf(applied[option])).join("\n");
    if (this.#kept?.key === key) return this.#kept.agent;
    this.#kept?.agent.destroy();
    const agent = keptAlive(applied.agent, applied);
    this.#kept = { key, agent };
    return agent;
  }
}

/** What a connection is made with, and cannot be changed in afterwards. */
const IDENTITY = ["ca", "cert", "key", "pfx", "passphrase", "servername", "rejectUnauthorized"] as const;

/** A plain agent is made anew, with what the client would connect with now; one for a proxy is told to keep its connections. */
function keptAlive(agent: Agent, applied: Applied): Agent {
  const keep = { keepAlive: true, maxSockets: MOST_SOCKETS, timeout: IDLE, scheduling: "lifo" } as const;
  if (agent.constructor === HttpsAgent) {
    const given = IDENTITY.filter((option) => applied[option] !== undefined).map((option) => [option, applied[option]]);
    return new HttpsAgent({ ...Object.fromEntries(given), ...keep });
  }
  const { options } = agent as Agent & { options: object };
  return Object.assign(agent, { keepAlive: true, maxSockets: MOST_SOCKETS, options: { ...options, ...keep } });
}

async function openCluster({ kubeConfig, kubeconfig, context, namespace }: ClusterOptions): Promise<Cluster> {
  const { KubeConfig } = await import("@kubernetes/client-node").catch((cause: unknown) => {
    const advice = "its version 2 needs Node 22; on Node 20: npm install @kubernetes/client-node@1.4";
    const message = `@kubernetes/client-node cannot be loaded: ${messageOf(cause)} (${advice})`;
    throw new UnansweredError(message, { sent: false, lasting: true, cause });
  });
  try {
    const config = new KubeConfig();
    // Of one that was handed over as well: its authenticators keep tokens.
    if (kubeConfig !== undefined) Object.assign(config, { ...kubeConfig, authenticators: authenticatorsOf(config) });
    else if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
    else config.loadFromDefault();
    if (context !== undefined) config.setCurrentContext(context);
    const cluster = config.getCurrentCluster();
    if (cluster === null)
      throw new Error(`the kubeconfig has no context ${JSON.stringify(config.getCurrentContext())}`);
    const own = config.getContextObject(config.getCurrentContext())?.namespace;
    return { config, server: new URL(cluster.server), namespace: namespace ?? own ?? "default" };
  } catch (cause) {
    throw new UnansweredError(`the cluster's configuration makes no sense: ${messageOf(cause)}`, {
      sent: false,
      lasting: true,
      cause,
    });
  }
}

function authenticatorsOf(config: KubeConfig): unknown {
  return (config as unknown as { authenticators: unknown }).authenticators;
}

function describing(body: string | undefined): OutgoingHttpHeaders {
  if (body === undefined) return { Accept: "application/json" };
  return { Accept: "application/json", "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
}

/** The client passes on a token file as it is, with the line break that editors put at its end. */
function trimmed(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    typeof value === "string" ? value.trim() : value,
  ]);
  return Object.fromEntries(entries);
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString("base64") : String(value);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
