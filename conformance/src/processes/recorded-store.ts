import type { Recorder } from "../judge/recorder.js";

/** A fenced store of session events, as far as its writes go. */
export interface FencedStore {
  create(id: string, token: bigint): Promise<unknown>;
  open(id: string, token: bigint): Promise<unknown>;
  append(id: string, token: bigint, event: never, ...rest: never[]): Promise<{ readonly seq: number }>;
  delete(id: string, token: bigint): Promise<unknown>;
}

export interface StoreRecording<S extends FencedStore> {
  /** Whether an error says that a write was kept out for its token. */
  readonly isStale: (error: unknown) => boolean;
  /** What an entry can be recognised by in the log; without it, its place in the log says which it is. */
  readonly markOf?: ((event: Parameters<S["append"]>[2]) => string) | undefined;
}

/**
 * From now on the writes of this store go into the history; of a class, if `store` is its prototype. A creation counts as an
 * opening and a deletion as an erasure.
 */
export function recordStore<S extends FencedStore>(
  store: S,
  recorder: Recorder,
  { isStale, markOf }: StoreRecording<S>,
): void {
  const { create, open, append, delete: erase } = store;
  const recorded: FencedStore & ThisType<S> = {
    create(session, token) {
      return recorder.write({ session, op: "open", token }, () => create.call(this, session, token), { isStale });
    },
    open(session, token) {
      return recorder.write({ session, op: "open", token }, () => open.call(this, session, token), { isStale });
    },
    append(session, token, event, ...rest) {
      const asked = { session, op: "append", token, write: markOf?.(event) } as const;
      const seq = (stored: { readonly seq: number }): number => stored.seq;
      return recorder.write(asked, () => append.call(this, session, token, event, ...rest), { isStale, seq });
    },
    delete(session, token) {
      return recorder.write({ session, op: "erase", token }, () => erase.call(this, session, token), { isStale });
    },
  };
  Object.assign(store, recorded);
}
