import type { CasStore, LeaseRecord, Loaded } from "../../src/index.js";

type Kept = { readonly record: LeaseRecord; readonly version: number };

/** A store in a Map that answers later, counts what it is asked, and can be meddled with. */
export class MapStore {
  readonly records = new Map<string, Kept>();
  readonly asked: string[] = [];
  readonly watchers = new Set<() => void>();
  #version = 0;

  /** `remembering`: swaps answer with the new version. */
  store({ remembering = false } = {}): CasStore<number> {
    return {
      load: async (id): Promise<Loaded<number>> => {
        this.asked.push("load");
        return this.records.get(id);
      },
      swap: async (id, version, next) => {
        this.asked.push("swap");
        if (this.records.get(id)?.version !== version) return false;
        this.put(id, next);
        return remembering ? { version: this.#version } : true;
      },
    };
  }

  /** What another process would do. */
  put(id: string, record: LeaseRecord | undefined): void {
    this.#version += 1;
    if (record === undefined) this.records.delete(id);
    else this.records.set(id, { record, version: this.#version });
    for (const onChange of this.watchers) onChange();
  }
}
