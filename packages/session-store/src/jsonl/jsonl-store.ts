/**
 * A session store in a directory: one JSONL log per session, shared by any number of processes on one host.
 *
 * Why a stale holder cannot write is argued in `session-log.ts`; what a log means is `fold.ts`; what each call writes is
 * `plans.ts`. Here the calls of the port meet the logs.
 */

import { type Clock, compareBytes, hostClock } from "@leasehold/session-lease";
import {
  StoreAbortedError,
  StoreClosedError,
  StoreCorruptError,
  StoreInvalidError,
  UnknownSessionError,
} from "../errors.js";
import { acceptAfter, acceptEvent, acceptEventLimit, acceptLimit, checkDomain, checkId, checkToken } from "../input.js";
import { Page, Tail } from "../paging.js";
import type {
  EventPage,
  OpenedSession,
  SessionEvent,
  SessionPage,
  SessionStore,
  SessionSummary,
  StoredEvent,
  StoreStats,
} from "../store.js";
import { Tally } from "../tally.js";
import { withStoreErrors } from "./file-errors.js";
import type { StoreFiles } from "./files.js";
import type { LogState } from "./fold.js";
import { hostFiles } from "./host-files.js";
import { adoptDomain, readDomain } from "./lease-domain.js";
import { LogCache } from "./log-cache.js";
import { stemOf } from "./names.js";
import { mark, planCreation, planDeletion, planEvent, planFence, type Stamp } from "./plans.js";
import { isOneSessionsFault, SessionList } from "./session-list.js";
import { SessionLog } from "./session-log.js";
import { freshWriterName } from "./writer-name.js";

/** Each further attempt takes a creation or deletion by somebody else at just that moment. */
const MAX_ATTEMPTS = 20;

export interface JsonlSessionStoreOptions {
  /** Made, with its parents, when something is first written. Local disk only. */
  readonly directory: string;
  /** Largest event, in bytes as it is stored: 1,024 to 16 MiB; 1 MiB unless given. */
  readonly maxEventBytes?: number | undefined;
  /** Only `wall` is used, for the time in each event. */
  readonly clock?: Pick<Clock, "wall"> | undefined;
  /** The file system; `hostFiles(directory)` unless given. */
  readonly files?: StoreFiles | undefined;
  /** Names this object's writes; no two objects on one directory may share it. Random unless given. */
  readonly writer?: string | undefined;
}

/**
 * Sessions in a directory. Nothing is touched until the first call.
 * @throws StoreInvalidError for options that make no sense.
 */
export class JsonlSessionStore implements SessionStore {
  readonly #files: StoreFiles;
  readonly #clock: Pick<Clock, "wall">;
  readonly #maxEventBytes: number;
  readonly #writer: string;
  readonly #logs: LogCache;
  readonly #list: SessionList;
  readonly #tally = new Tally();
  readonly #watches = new Set<() => void>();
  readonly #calls = new Set<Promise<unknown>>();
  #writes = 0;
  #closed = false;

  constructor(options: JsonlSessionStoreOptions) {
    const { directory, clock = hostClock, writer = freshWriterName() } = options;
    if (typeof directory !== "string" || directory.trim() === "") {
      throw new StoreInvalidError("the store's directory must be named");
    }
    this.#maxEventBytes = acceptEventLimit(options.maxEventBytes);
    this.#files = withStoreErrors(options.files ?? hostFiles(directory));
    this.#clock = clock;
    this.#writer = writer;
    this.#logs = new LogCache(
      (id) => new SessionLog(this.#files, id, (before, after) => this.#tally.ignored(before.ignored, after.ignored)),
    );
    this.#list = new SessionList(this.#files);
  }

  highest(id: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<bigint | undefined> {
    return this.#call(async () => {
      checkId(id);
      refuseAborted(options.signal);
      const state = await this.#logs.read(id, (log) => log.state());
      refuseAborted(options.signal);
      return state?.highest;
    });
  }

  create(id: string, token: bigint): Promise<void> {
    return this.#call(async () => {
      const stamp = this.#stamp(id, token);
      await this.#logs.write(id, async (log) => {
        const plan = planCreation(stamp);
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
          if ((await log.write(plan, { alone: false, sync: true })) !== undefined) return;
          if (await log.begin(mark(stamp, "created"))) return;
        }
        throw new StoreCorruptError("the session's files come and go", log.directory);
      });
    });
  }

  open(id: string, token: bigint): Promise<OpenedSession> {
    return this.#call(async () => {
      const stamp = this.#stamp(id, token);
      return await this.#logs.write(id, async (log) => {
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
          const fence = await log.write(planFence(stamp), { alone: true, sync: true });
          if (fence === undefined || !fence.state.exists) throw new UnknownSessionError(id);
          const { lastSeq, ignored } = fence.state;
          const tail = await readTail(log, lastSeq);
          const last = tail.at(-1);
          // Deleted between fence and reading: the fence goes up again, or is refused, in the file that follows.
          if ((last?.seq ?? 0) !== lastSeq) continue;
          return { lastSeq, ...(last && { last }), tail, ignored };
        }
        throw new StoreCorruptError("the session's log does not read as it was written", log.directory);
      });
    });
  }

  append(
    id: string,
    token: bigint,
    event: SessionEvent,
    options: { readonly sync?: boolean | undefined } = {},
  ): Promise<StoredEvent> {
    return this.#call(async () => {
      const stamp = this.#stamp(id, token);
      const plan = planEvent(stamp, acceptEvent(event), this.#maxEventBytes);
      const written = await this.#logs.write(id, (log) =>
        log.write(plan, { alone: false, sync: options.sync === true }),
      );
      if (written?.record.kind !== "event") throw new UnknownSessionError(id);
      return written.record.event;
    });
  }

  read(
    id: string,
    options: { readonly after?: number | undefined; readonly limit?: number | undefined } = {},
  ): Promise<EventPage> {
    return this.#call(async () => {
      checkId(id);
      const after = acceptAfter(options.after);
      const page = new Page(acceptLimit(options.limit));
      const state = await this.#logs.read(id, (log) => log.visit(after, (event, bytes) => page.add(event, bytes)));
      if (!state?.exists) throw new UnknownSessionError(id);
      return page.result();
    });
  }

  summary(id: string): Promise<SessionSummary> {
    return this.#call(async () => {
      checkId(id);
      const state = await this.#logs.read(id, (log) => log.state());
      const summary = state && summaryOf(id, state);
      if (summary === undefined) throw new UnknownSessionError(id);
      return summary;
    });
  }

  list(
    options: { readonly after?: string | undefined; readonly limit?: number | undefined } = {},
  ): Promise<SessionPage> {
    return this.#call(async () => {
      const { after } = options;
      if (after !== undefined) checkId(after);
      const limit = acceptLimit(options.limit);
      const found = await this.#list.ids();
      this.#tally.unreadableSessions = found.unreadable;
      const sessions: SessionSummary[] = [];
      for (const id of found.ids) {
        if (after !== undefined && compareBytes(id, after) <= 0) continue;
        const summary = await this.#summary(id);
        if (summary === undefined) continue;
        const last = sessions.at(-1);
        if (sessions.length === limit && last !== undefined) return { sessions, next: last.id };
        sessions.push(summary);
      }
      return { sessions };
    });
  }

  delete(id: string, token: bigint): Promise<boolean> {
    return this.#call(async () => {
      const stamp = this.#stamp(id, token);
      return await this.#logs.write(id, async (log) => {
        const written = await log.write(planDeletion(stamp), { alone: true, sync: true });
        if (written === undefined || !written.state.sealed) return false;
        await log.finishDeletion();
        return true;
      });
    });
  }

  domain(): Promise<string | undefined> {
    return this.#call(() => readDomain(this.#files));
  }

  adoptDomain(domain: string, options: { readonly force?: boolean | undefined } = {}): Promise<void> {
    return this.#call(async () => {
      checkDomain(domain);
      await adoptDomain(this.#files, domain, options.force === true);
    });
  }

  watch(id: string, onChange: () => void): () => void {
    if (this.#closed) throw new StoreClosedError();
    checkId(id);
    const end = this.#files.watch(this.#files.join(stemOf(id)), onChange);
    if (end === undefined) throw new UnknownSessionError(id);
    const once = (): void => {
      if (this.#watches.delete(once)) end();
    };
    this.#watches.add(once);
    return once;
  }

  stats(): StoreStats {
    return this.#tally.result();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const end of [...this.#watches]) end();
    await Promise.allSettled([...this.#calls]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #stamp(id: string, token: bigint): Stamp {
    checkId(id);
    checkToken(token);
    return { id, token, next: () => ({ time: this.#clock.wall(), by: `${this.#writer}.${++this.#writes}` }) };
  }

  /** One session's line in a list; `undefined` when it is deleted, or its files cannot be understood. */
  async #summary(id: string): Promise<SessionSummary | undefined> {
    try {
      const state = await this.#logs.read(id, (log) => log.state());
      return state && summaryOf(id, state);
    } catch (error) {
      if (!isOneSessionsFault(error)) throw error;
      this.#tally.unreadableSessions++;
      return undefined;
    }
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreClosedError();
    const running = this.#tally.watching(call());
    this.#calls.add(running);
    try {
      return await running;
    } finally {
      this.#calls.delete(running);
    }
  }
}

async function readTail(log: SessionLog, lastSeq: number): Promise<readonly StoredEvent[]> {
  const tail = new Tail();
  await log.visit(Tail.start(lastSeq), (event, bytes) => {
    if (event.seq > lastSeq) return false;
    tail.add(event, bytes);
    return true;
  });
  return tail.events;
}

function summaryOf(id: string, state: LogState): SessionSummary | undefined {
  const { exists, highest, createdAt, lastSeq, runs, last } = state;
  if (!exists || highest === undefined) return undefined;
  return { id, token: highest, createdAt, lastSeq, runs, ...(last && { last }) };
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new StoreAbortedError(signal.reason);
}
