/** One API server as the exam sees it: a double by a clock of its own, faults on the way, and a hand on the store itself. */

import { FakeClock, type Opened } from "@leasehold/conformance";
import { everything, KubeLink, KubeServer, writes } from "@leasehold/kube-double";
import type { FullSessionLease } from "@leasehold/session-lease";
import { httpLeaseApi, type K8sLeaseOptions, k8slease, objectName, ServerTime } from "../src/index.js";
import { K8sStore } from "../src/k8s-store.js";
import { LeaseCalls } from "../src/lease-calls.js";

const NAMESPACE = "default";
/** Ms: the last of a second. What was heard in the first and in the last ms of seconds leaves nothing to be guessed. */
const LAST_OF_SECOND = 999;

export class ExaminedCluster {
  readonly clock = new FakeClock();
  readonly server: KubeServer;
  readonly link: KubeLink;
  readonly #options: K8sLeaseOptions;
  /** Ms by which the server's clock is ahead of the host's monotonic one. */
  #ahead: number;

  constructor(options: K8sLeaseOptions) {
    this.#options = options;
    this.#ahead = this.clock.wall() - this.clock.monotonic();
    this.server = new KubeServer({ clock: { wall: () => this.now() } });
    this.link = new KubeLink(this.server, this.clock);
  }

  now(): number {
    return this.clock.monotonic() + this.#ahead;
  }

  step(ms: number): void {
    this.#ahead += ms;
  }

  open(options: K8sLeaseOptions = {}): FullSessionLease {
    return k8slease({ clock: this.clock, api: this.#api(), ...this.#options, ...options });
  }

  /** `serverTime`, if it is there, has heard enough to be exact. */
  async opened(serverTime?: ServerTime): Promise<Opened> {
    const options = serverTime === undefined ? {} : { serverTime };
    const lease = this.open(options);
    if (serverTime !== undefined) {
      await lease.inspect("s");
      await this.clock.advance(LAST_OF_SECOND);
      await lease.inspect("s");
    }
    const { clock, server, link } = this;
    const nameOf = (sessionId: string): string => objectName("default", sessionId);
    return {
      lease,
      reopen: () => this.open(options),
      advance: (ms) => clock.advance(ms),
      now: () => this.now(),
      step: (ms) => this.step(ms),
      stepHost: (ms) => clock.stepWall(ms),
      timers: () => clock.pending,
      outage: () => link.inject(everything, { kind: "refuse" }),
      stall: () => {
        let resume = (): void => undefined;
        const until = new Promise<void>((resolve) => {
          resume = resolve;
        });
        const end = link.inject(writes, { kind: "hold", until });
        return () => {
          end();
          resume();
        };
      },
      oracle: {
        read: (sessionId) => JSON.stringify(server.store.get(NAMESPACE, nameOf(sessionId))),
        remove: (sessionId) => server.store.remove(NAMESPACE, nameOf(sessionId)),
        backup: () => server.store.backup(),
        corrupt: (sessionId) => this.edit(sessionId, "leasehold/token", "nine"),
        requests: () => link.calls.length,
        size: () => server.store.in(NAMESPACE).filter(({ metadata }) => metadata.name !== "leasehold.default").length,
      },
      store: this.store(serverTime),
    };
  }

  store(time: ServerTime = new ServerTime(this.clock)): K8sStore {
    const { clock } = this;
    const random = Math.random;
    const calls = new LeaseCalls({ api: this.#api(), clock, time, requestTimeout: 5000, random });
    return new K8sStore({ calls, clock, time, domain: "default", pollInterval: 1000, random });
  }

  /** As somebody with `kubectl annotate` would. */
  edit(sessionId: string, annotation: string, value: string): void {
    const { store } = this.server;
    const found = store.get(NAMESPACE, objectName("default", sessionId));
    if (found === undefined) throw new Error(`there is no object of ${sessionId} to edit`);
    const annotations = { ...(found.metadata.annotations as object), [annotation]: value };
    store.put({ ...found, metadata: { ...found.metadata, annotations } });
  }

  #api(): ReturnType<typeof httpLeaseApi> {
    return httpLeaseApi(NAMESPACE, (call, signal) => this.link.exchange(call, signal));
  }
}
