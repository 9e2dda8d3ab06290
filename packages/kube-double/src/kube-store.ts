import { randomUUID } from "node:crypto";

/** Fields that somebody looks at, among any others. */
export type ObjectFields = Readonly<Record<string, unknown>> &
  Readonly<{ labels?: unknown; annotations?: unknown; generateName?: unknown; creationTimestamp?: unknown }>;
export type SpecFields = Readonly<Record<string, unknown>> &
  Readonly<{
    holderIdentity?: unknown;
    leaseDurationSeconds?: unknown;
    acquireTime?: unknown;
    renewTime?: unknown;
    leaseTransitions?: unknown;
    strategy?: unknown;
  }>;

/** A Lease as the store keeps it. */
export type StoredLease = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: ObjectFields & Readonly<{ name: string; namespace: string; uid: string; resourceVersion: string }>;
  spec: SpecFields;
}>;

/**
 * What etcd is to a cluster: one store behind any number of API servers. Revisions only grow, over all objects, and the
 * restore of a backup keeps them growing, as `etcdutl snapshot restore --bump-revision` does.
 */
export class KubeStore {
  readonly #leases = new Map<string, StoredLease>();
  #revision = 100;

  get revision(): number {
    return this.#revision;
  }

  get(namespace: string, name: string): StoredLease | undefined {
    return this.#leases.get(keyOf(namespace, name));
  }

  /** In the order in which they are listed. */
  in(namespace: string): readonly StoredLease[] {
    return [...this.#leases.entries()]
      .filter(([, { metadata }]) => metadata.namespace === namespace)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, lease]) => lease);
  }

  put(lease: StoredLease): StoredLease {
    this.#revision += 1;
    const { namespace, name } = lease.metadata;
    const stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#revision) } };
    this.#leases.set(keyOf(namespace, name), stored);
    return stored;
  }

  remove(namespace: string, name: string): boolean {
    this.#revision += 1;
    return this.#leases.delete(keyOf(namespace, name));
  }

  /** A copy of everything; the function returned puts it back. */
  backup(): () => void {
    const copy = new Map(this.#leases);
    return () => {
      this.#leases.clear();
      for (const [key, lease] of copy) this.#leases.set(key, lease);
      this.#revision += 1_000_000;
    };
  }

  newUid(): string {
    return randomUUID();
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
