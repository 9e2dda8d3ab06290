import type { Oracle } from "@leasehold/conformance";
import { MemoryLeaseStore } from "@leasehold/memlease";
import { LeaseCorruptError, type LeaseRecord, type Loaded } from "@leasehold/session-lease";

/** The store, with what an examiner does to it behind the lease's back. */
export class ExaminedStore extends MemoryLeaseStore {
  #requests = 0;
  #unreachable = false;
  #stalled: Promise<void> | undefined;
  readonly #damaged = new Set<string>();

  override load(sessionId: string): Loaded<number> {
    this.#reach();
    const loaded = super.load(sessionId);
    if (!this.#damaged.has(sessionId) || loaded?.version === undefined) return loaded;
    return { broken: new LeaseCorruptError("the record was damaged"), version: loaded.version };
  }

  override swap(sessionId: string, version: number | undefined, next: LeaseRecord | undefined): boolean {
    this.#reach();
    const swapped = super.swap(sessionId, version, next);
    if (swapped) this.#damaged.delete(sessionId);
    // A map has no answers that could be late; `casLease` takes a promise all the same.
    return this.#stalled === undefined ? swapped : (this.#stalled.then(() => swapped) as unknown as boolean);
  }

  /** Until the function returned is called. */
  outage(): () => void {
    this.#unreachable = true;
    return () => {
      this.#unreachable = false;
    };
  }

  /** Until the function returned is called. */
  stall(): () => void {
    let resume: () => void = () => undefined;
    this.#stalled = new Promise((resolve) => {
      resume = resolve;
    });
    return () => {
      this.#stalled = undefined;
      resume();
    };
  }

  readonly oracle: Oracle = {
    read: (sessionId) => text(super.load(sessionId)?.record),
    remove: (sessionId) => this.#put(sessionId, undefined),
    backup: () => {
      const copy = [...this.scan()];
      return () => {
        for (const { sessionId } of [...this.scan()]) this.#put(sessionId, undefined);
        for (const { sessionId, record } of copy) this.#put(sessionId, record);
      };
    },
    corrupt: (sessionId) => this.#damaged.add(sessionId),
    requests: () => this.#requests,
    size: () => this.size,
  };

  #put(sessionId: string, record: LeaseRecord | undefined): void {
    super.swap(sessionId, super.load(sessionId)?.version, record);
  }

  #reach(): void {
    this.#requests += 1;
    if (this.#unreachable) throw new Error("the store cannot be reached");
  }
}

function text(record: LeaseRecord | undefined): string | undefined {
  return record && JSON.stringify(record, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
}
