/** What a store counts while it works. */

import { StaleTokenError, storeErrorCode } from "./errors.js";
import type { IgnoredLines, StoreStats } from "./store.js";

export class Tally {
  #staleRefused = 0;
  #ignored = { unreadable: 0, stale: 0, misplaced: 0 };
  unreadableSessions = 0;

  /** Counts the call's refusal, if it is one for a stale token, and passes its outcome on. */
  async watching<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (storeErrorCode(error) === "stale-token") this.#staleRefused++;
      throw error;
    }
  }

  ignored(before: IgnoredLines, after: IgnoredLines): void {
    this.#ignored.unreadable += after.unreadable - before.unreadable;
    this.#ignored.stale += after.stale - before.stale;
    this.#ignored.misplaced += after.misplaced - before.misplaced;
  }

  result(): StoreStats {
    return {
      staleRefused: this.#staleRefused,
      ignoredLines: { ...this.#ignored },
      unreadableSessions: this.unreadableSessions,
    };
  }
}

/** @throws StaleTokenError when `token` is lower than the highest known. */
export function refuseStale(id: string, token: bigint, highest: bigint | undefined): void {
  if (highest !== undefined && token < highest) throw new StaleTokenError(id, token, highest);
}
