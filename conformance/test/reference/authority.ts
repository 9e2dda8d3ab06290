import { type CasStore, LeaseCorruptError, type LeaseRecord, type Loaded } from "@leasehold/session-lease";
import type { Oracle } from "../../src/index.js";

type Kept = Readonly<{ sessionId: string; record: LeaseRecord; version: number }>;
type Change = Readonly<{ before: LeaseRecord | undefined; after: LeaseRecord | undefined }>;

/** The records of one world, in a map, and everything that an examiner does to them behind a lease's back. */
export class Authority implements CasStore<number> {
  readonly id: string = `domain ${Math.random()}`;
  readonly #records = new Map<string, Kept>();
  readonly #damaged = new Set<string>();
  readonly #watchers = new Set<(sessionId: string, change: Change) => void>();
  #versions = 0;
  #requests = 0;
  #reachable = true;
  #stalled: Promise<void> | undefined;

  load(sessionId: string): Loaded<number> {
    this.#reach();
    const kept = this.#records.get(sessionId);
    if (kept === undefined || !this.#damaged.has(sessionId)) return kept;
    return { broken: new LeaseCorruptError("the record was damaged"), version: kept.version };
  }

  swap(sessionId: string, version: number | undefined, next: LeaseRecord | undefined): boolean | Promise<boolean> {
    this.#reach();
    if (this.#records.get(sessionId)?.version !== version) return false;
    this.put(sessionId, next);
    return this.#stalled === undefined ? true : this.#stalled.then(() => true);
  }

  /** Stores without comparing: for operators, and for mutants that do as they like. */
  put(sessionId: string, next: LeaseRecord | undefined): void {
    const before = this.#records.get(sessionId)?.record;
    this.#versions += 1;
    this.#damaged.delete(sessionId);
    if (next === undefined) this.#records.delete(sessionId);
    else this.#records.set(sessionId, { sessionId, record: next, version: this.#versions });
    for (const hear of [...this.#watchers]) hear(sessionId, { before, after: next });
  }

  /** What is there, without asking for it: no request, no outage. */
  peek(sessionId: string): LeaseRecord | undefined {
    return this.#records.get(sessionId)?.record;
  }

  version(sessionId: string): number | undefined {
    return this.#records.get(sessionId)?.version;
  }

  scan(): Kept[] {
    return [...this.#records.values()];
  }

  watch(sessionId: string, onChange: (change: Change) => void): () => void {
    const hear = (changed: string, change: Change): void => {
      if (changed === sessionId) onChange(change);
    };
    this.#watchers.add(hear);
    return () => this.#watchers.delete(hear);
  }

  domain(): string {
    return this.id;
  }

  outage(): () => void {
    this.#reachable = false;
    return () => {
      this.#reachable = true;
    };
  }

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
    read: (sessionId) => {
      const record = this.peek(sessionId);
      return record && JSON.stringify(record, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
    },
    remove: (sessionId) => this.put(sessionId, undefined),
    backup: () => {
      const copy = this.scan();
      return () => {
        for (const { sessionId } of this.scan()) this.put(sessionId, undefined);
        for (const { sessionId, record } of copy) this.put(sessionId, record);
      };
    },
    corrupt: (sessionId) => {
      const kept = this.#records.get(sessionId);
      if (kept === undefined) throw new Error(`there is no record of ${sessionId} to damage`);
      // What is there is not what was stored: it has another version.
      this.#versions += 1;
      this.#records.set(sessionId, { ...kept, version: this.#versions });
      this.#damaged.add(sessionId);
    },
    requests: () => this.#requests,
    size: () => this.#records.size,
  };

  #reach(): void {
    this.#requests += 1;
    if (!this.#reachable) throw new Error("the store cannot be reached");
  }
}
