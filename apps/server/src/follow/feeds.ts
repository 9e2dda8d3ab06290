import { Turnstile } from "../turnstile.js";
import { type FeedParts, SessionFeed } from "./session-feed.js";

/** Followers that read pages of logs at the same time; a page is at most 4 MiB. */
const READERS = 4;

interface Shared {
  readonly opening: Promise<SessionFeed>;
  users: number;
}

/** The feeds of one process: one for each session that is followed, while it is. */
export class Feeds {
  readonly #parts: FeedParts;
  readonly #shared = new Map<string, Shared>();
  #followers = 0;

  constructor(parts: Omit<FeedParts, "readers">) {
    this.#parts = { ...parts, readers: new Turnstile(READERS) };
  }

  /** How many follow now. */
  get followers(): number {
    return this.#followers;
  }

  /** Lends the session's feed to `follow`, and settles as that does. Rejects with the store's error for an unknown session. */
  async use<T>(id: string, follow: (feed: SessionFeed) => Promise<T>): Promise<T> {
    const shared = this.#shared.get(id) ?? { opening: SessionFeed.open(id, this.#parts), users: 0 };
    this.#shared.set(id, shared);
    shared.users += 1;
    this.#followers += 1;
    try {
      const feed = await shared.opening;
      if (!feed.over) return await follow(feed);
    } finally {
      this.#followers -= 1;
      shared.users -= 1;
      await this.#leave(id, shared);
    }
    // Another session of the same name may have come since the feed ended.
    return await this.use(id, follow);
  }

  /** Ends every feed, and with it whoever follows. */
  async close(): Promise<void> {
    for (const { opening } of this.#shared.values()) (await opening.catch(() => undefined))?.close();
  }

  async #leave(id: string, shared: Shared): Promise<void> {
    const feed = await shared.opening.catch(() => undefined);
    if (shared.users > 0 && feed?.over === false) return;
    if (this.#shared.get(id) === shared) this.#shared.delete(id);
    if (shared.users === 0) feed?.close();
  }
}
