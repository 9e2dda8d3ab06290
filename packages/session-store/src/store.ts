/**
 * The port: what a session store promises, whatever it keeps its events in.
 *
 * Every writing call carries the fencing token of the lease it is made under. A store remembers, per session id, the
 * highest token that ever wrote, and refuses anything lower for good. That is what turns a lease, which can only say
 * "you should have stopped", into a guarantee that whoever did not stop changes nothing.
 */

/** Anything JSON can carry. Numbers are finite; a `bigint` is refused, so write it as text. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** What a holder appends. The store adds the rest. */
export interface SessionEvent {
  /** The run that the event belongs to: 1 to 256 UTF-8 bytes. */
  readonly runId: string;
  /** What happened, in a word: 1 to 64 UTF-8 bytes. */
  readonly type: string;
  readonly data?: JsonValue | undefined;
}

/** An event without its payload. */
export interface EventHead {
  /** Place in the session: starts at 1 and grows by one. */
  readonly seq: number;
  /** Fencing token it was written under. Never falls along `seq`. */
  readonly token: bigint;
  /** When the writer's host wrote it: epoch ms. For people; nothing is decided by it. */
  readonly time: number;
  readonly runId: string;
  readonly type: string;
}

/** An event as the store keeps it. */
export interface StoredEvent extends EventHead {
  readonly data?: JsonValue;
}

/** Lines that a log holds and that do not count. A store without lines reports zeros. */
export interface IgnoredLines {
  /** Torn by a crash, damaged, or not a record. */
  readonly unreadable: number;
  /** Written with a lower token than one before them. */
  readonly stale: number;
  /** A repeated seq, a second creation, an event of no session, anything behind a deletion. */
  readonly misplaced: number;
}

/** What a new holder finds once the fence is up. */
export interface OpenedSession {
  /** The last event's seq, 0 before the first. */
  readonly lastSeq: number;
  readonly last?: StoredEvent;
  /** The newest events in order: at most 64, and at most 1 MiB unless the last one alone is larger. */
  readonly tail: readonly StoredEvent[];
  /** What stood in the way of reading: since the session's file was begun. */
  readonly ignored: IgnoredLines;
}

/** One session in a list. */
export interface SessionSummary {
  readonly id: string;
  /** Highest token that has written. */
  readonly token: bigint;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly lastSeq: number;
  /** How many times a run began: changes of `runId` along the events. */
  readonly runs: number;
  readonly last?: EventHead;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Pass as `after` for the rest; absent when this page reached the end. */
  readonly next?: number;
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** Pass as `after` for the rest; absent when this page reached the end. */
  readonly next?: string;
}

export interface StoreStats {
  /** Calls of this instance that were refused with `StaleTokenError`. */
  readonly staleRefused: number;
  /** Ignored lines this instance has come across. A log that fell out of the cache is counted again when reread. */
  readonly ignoredLines: IgnoredLines;
  /** Sessions that the last `list` had to leave out because their files cannot be read as sessions. */
  readonly unreadableSessions: number;
}

/**
 * A fenced store of session events.
 *
 * Session ids are non-empty, well-formed Unicode without NUL, at most 1,024 UTF-8 bytes. Tokens are `bigint`, 0 to
 * 2^63-1; 0 is for sessions that have never been leased.
 *
 * Every method may reject with `StoreInvalidError` (an argument), `StoreClosedError`, `StoreUnavailableError` or
 * `StoreDeniedError` (the storage), `StoreCorruptError` or `StoreIncompatibleError` (what is stored). Every method that
 * takes a token rejects with `StaleTokenError` when that token is lower than the highest that the id has known.
 * A write that rejects with `StoreUnavailableError` may or may not have happened: open again before going on.
 */
export interface SessionStore extends AsyncDisposable {
  /**
   * The highest token that has created, opened, appended to or deleted this id; `undefined` for an id never created.
   * A deletion does not lower it. Feed it to the lease as `above`.
   */
  highest(id: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<bigint | undefined>;

  /** Creates an empty session, durably. @throws SessionExistsError unless the id is new or deleted. */
  create(id: string, token: bigint): Promise<void>;

  /**
   * Raises the fence to `token`, durably, and only then reads. Once this has resolved no lower token writes again, in
   * any process. @throws UnknownSessionError (a deleted session's fence is raised all the same).
   */
  open(id: string, token: bigint): Promise<OpenedSession>;

  /**
   * Appends one event and returns it as stored. Resolves when every later reader will see it; with `sync: true` also
   * when it is on the disk, and every event before it. A higher token than any before raises the fence.
   * @throws UnknownSessionError
   */
  append(
    id: string,
    token: bigint,
    event: SessionEvent,
    options?: { readonly sync?: boolean | undefined },
  ): Promise<StoredEvent>;

  /**
   * Events with `seq > after` (default 0) in order: at most `limit` (default 100, 1 to 1,000), and fewer when they are
   * large (4 MiB ends a page). @throws UnknownSessionError
   */
  read(
    id: string,
    options?: { readonly after?: number | undefined; readonly limit?: number | undefined },
  ): Promise<EventPage>;

  /** One session as `list` shows it. @throws UnknownSessionError */
  summary(id: string): Promise<SessionSummary>;

  /** Sessions with an id after `after`, ordered by the UTF-8 bytes of their ids; `limit` as in `read`. */
  list(options?: { readonly after?: string | undefined; readonly limit?: number | undefined }): Promise<SessionPage>;

  /** Removes the session and its events and keeps the token. `false` when there was none. */
  delete(id: string, token: bigint): Promise<boolean>;

  /** The lease domain this store is used with; `undefined` until one is adopted. */
  domain(): Promise<string | undefined>;

  /**
   * Ties the store to a lease domain (`"none"`: unleased). The first one wins, atomically, and the same one again is
   * fine. `force` replaces whatever is there. @throws LeaseDomainMismatchError naming both.
   */
  adoptDomain(domain: string, options?: { readonly force?: boolean | undefined }): Promise<void>;

  /**
   * Calls `onChange` soon after a change of the session by any process; possibly too often, never with what changed.
   * Returns the function that ends it. A watch never keeps the process alive. @throws UnknownSessionError, and
   * StoreUnavailableError when the host has no watch to give: poll then.
   */
  watch?(id: string, onChange: () => void): () => void;

  stats(): StoreStats;

  /** Waits for calls in flight, ends watches. Later calls are refused. */
  close(): Promise<void>;
}
