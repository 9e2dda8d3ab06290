/** Servers and processes, each with a wall clock of its own, over one store and one true time. */

import { FakeClock } from "@leasehold/conformance";
import { KubeLink, KubeServer, KubeStore, type StoredLease } from "@leasehold/kube-double";
import type { Clock, FullSessionLease } from "@leasehold/session-lease";
import { httpLeaseApi, type K8sLeaseOptions, k8slease, objectName } from "../src/index.js";

export const NAMESPACE = "default";
export const TTL = 30_000;
export const HOUR = 3_600_000;

/** A wall clock that is wrong by as much as one likes. */
class WallClock implements Clock {
  readonly #true: FakeClock;
  /** Ms ahead of true time. */
  ahead: number;

  constructor(clock: FakeClock, ahead: number) {
    this.#true = clock;
    this.ahead = ahead;
  }

  wall(): number {
    return this.#true.wall() + this.ahead;
  }

  monotonic(): number {
    return this.#true.monotonic();
  }

  schedule(callback: () => void, delayMs: number): ReturnType<Clock["schedule"]> {
    return this.#true.schedule(callback, delayMs);
  }
}

export type Process = Readonly<{ lease: FullSessionLease; link: KubeLink; clock: WallClock }>;

export class Cluster {
  readonly clock = new FakeClock();
  readonly store = new KubeStore();
  readonly #leases: FullSessionLease[] = [];

  /** `ahead`: ms by which its clock is ahead of true time. */
  server(ahead = 0): KubeServer {
    return new KubeServer({ clock: { wall: () => this.clock.wall() + ahead }, store: this.store });
  }

  process(server: KubeServer, options: K8sLeaseOptions & { ahead?: number } = {}): Process {
    const { ahead = 0, ...others } = options;
    const clock = new WallClock(this.clock, ahead);
    const link = new KubeLink(server, this.clock);
    const api = httpLeaseApi(NAMESPACE, (call, signal) => link.exchange(call, signal));
    const lease = k8slease({ ttl: TTL, api, clock, random: () => 0.5, ...others });
    this.#leases.push(lease);
    return { lease, link, clock };
  }

  object(sessionId: string): StoredLease | undefined {
    return this.store.get(NAMESPACE, objectName("default", sessionId));
  }

  /** Epoch ms. */
  renewTime(sessionId: string): number {
    return Date.parse(String(this.object(sessionId)?.spec.renewTime));
  }

  /** As somebody with `kubectl edit` would. */
  edit(
    sessionId: string,
    change: { spec?: object; annotations?: Readonly<Record<string, string | undefined>>; metadata?: object },
  ): void {
    const found = this.object(sessionId);
    if (found === undefined) throw new Error(`there is no object of ${sessionId} to edit`);
    const annotations = { ...(found.metadata.annotations as object), ...change.annotations };
    this.store.put({
      ...found,
      metadata: { ...found.metadata, ...change.metadata, annotations: JSON.parse(JSON.stringify(annotations)) },
      spec: { ...found.spec, ...change.spec },
    });
  }

  remove(sessionId: string): void {
    this.store.remove(NAMESPACE, objectName("default", sessionId));
  }

  /** Until it settles, with time going on. */
  async until<T>(promise: Promise<T>, limit = 120_000): Promise<T> {
    let settled = false;
    const done = (): void => {
      settled = true;
    };
    promise.then(done, done);
    await this.clock.settle();
    for (let passed = 0; !settled && passed < limit; passed += 100) await this.clock.advance(100);
    if (!settled) throw new Error(`nothing happened within ${limit} ms`);
    return promise;
  }

  async close(): Promise<void> {
    for (const lease of this.#leases) await lease.close();
  }
}

/** Tries again and again, a second apart; ms until it was granted. */
export async function takeover(
  cluster: Cluster,
  { lease }: Process,
  sessionId: string,
  owner: string,
): Promise<number> {
  const began = cluster.clock.monotonic();
  for (;;) {
    const granted = await lease.acquire(sessionId, owner).then(
      () => true,
      () => false,
    );
    if (granted) return cluster.clock.monotonic() - began;
    await cluster.clock.advance(250);
  }
}
