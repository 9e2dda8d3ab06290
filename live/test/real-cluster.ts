/** The real API server as the exam sees it: a domain of its own for each opened lease, by the rights that `deploy/` grants. */

import type { Opened } from "@leasehold/conformance";
import {
  type ApiReply,
  clientNodeApi,
  type K8sLeaseOptions,
  k8slease,
  type LeaseApi,
  type LeaseObject,
  objectName,
  type ServerTime,
  selectorOf,
  UnansweredError,
} from "@leasehold/k8slease";
import type { RealApiServer } from "@leasehold/kube-double";
import type { FullSessionLease } from "@leasehold/session-lease";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces";
let domains = 0;

export class RealCluster {
  readonly #server: RealApiServer;
  readonly #namespace: string;
  readonly #domain: string;
  readonly #options: K8sLeaseOptions;
  #requests = 0;
  #broken = false;
  #gate: Promise<void> | undefined;

  constructor(server: RealApiServer, namespace: string, options: K8sLeaseOptions) {
    domains += 1;
    this.#server = server;
    this.#namespace = namespace;
    this.#domain = `exam-${domains}`;
    this.#options = { ...options, domain: this.#domain };
  }

  open(): FullSessionLease {
    return k8slease({ ...this.#options, api: this.#examined(), onRequest: () => this.#count() });
  }

  #count(): void {
    this.#requests += 1;
  }

  opened(time: ServerTime): Opened {
    const { kubeconfig, ttl, forgetAfter } = this.#options;
    return {
      lease: this.open(),
      reopen: () => this.open(),
      advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      now: () => time.upper(),
      elsewhere: {
        module: new URL("fixtures/elsewhere.mjs", import.meta.url),
        argument: { kubeconfig, domain: `${this.#domain}-elsewhere`, ttl, forgetAfter, serverSkew: 0 },
      },
      outage: () => {
        this.#broken = true;
        return () => {
          this.#broken = false;
        };
      },
      stall: () => {
        let open = (): void => undefined;
        this.#gate = new Promise((resolve) => {
          open = resolve;
        });
        return () => {
          this.#gate = undefined;
          open();
        };
      },
      oracle: {
        read: async (sessionId) => {
          const found = await this.#object(sessionId);
          return found && JSON.stringify(found);
        },
        remove: (sessionId) => this.#server.exchange({ method: "DELETE", path: this.#path(sessionId) }),
        backup: async () => {
          const copy = await this.objects();
          return async () => {
            for (const { metadata } of await this.objects()) await this.#remove(metadata?.name);
            for (const object of copy) await this.#put(object);
          };
        },
        corrupt: async (sessionId) => {
          const found = await this.#object(sessionId);
          const annotations = { ...found?.metadata?.annotations, "leasehold/token": "nine" };
          const damaged = { ...found, metadata: { ...found?.metadata, annotations } };
          await this.#server.apply("PUT", this.#path(sessionId), damaged);
        },
        requests: () => this.#requests,
        size: async () => (await this.objects()).length,
      },
    };
  }

  async objects(): Promise<readonly LeaseObject[]> {
    const selector = encodeURIComponent(selectorOf(this.#domain));
    const { items } = await this.#server.apply("GET", `${LEASES}/${this.#namespace}/leases?labelSelector=${selector}`);
    return items as readonly LeaseObject[];
  }

  async #object(sessionId: string): Promise<LeaseObject | undefined> {
    const { status, body } = await this.#server.exchange({ method: "GET", path: this.#path(sessionId) });
    return status === 200 ? JSON.parse(body) : undefined;
  }

  #path(sessionId: string): string {
    return `${LEASES}/${this.#namespace}/leases/${objectName(this.#domain, sessionId)}`;
  }

  #remove(name: string | undefined): Promise<unknown> {
    return this.#server.exchange({ method: "DELETE", path: `${LEASES}/${this.#namespace}/leases/${name}` });
  }

  #put({ metadata, ...object }: LeaseObject): Promise<unknown> {
    const { name, labels, annotations } = metadata ?? {};
    const restored = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      ...object,
      metadata: { name, labels, annotations },
    };
    return this.#server.apply("POST", `${LEASES}/${this.#namespace}/leases`, restored);
  }

  #examined(): LeaseApi {
    const { kubeconfig } = this.#options;
    const api = clientNodeApi({ kubeconfig });
    return {
      namespace: () => api.namespace(),
      send: async (request, signal): Promise<ApiReply> => {
        if (this.#broken) throw new UnansweredError("an outage", { sent: false });
        const reply = await api.send(request, signal);
        if (request.verb !== "get" && request.verb !== "list") await unlessAborted(this.#gate, signal);
        return reply;
      },
      close: () => api.close(),
    };
  }
}

async function unlessAborted(gate: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  if (gate === undefined) return;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new UnansweredError("given up", { sent: true })), { once: true });
  });
  await Promise.race([gate, aborted]);
}
