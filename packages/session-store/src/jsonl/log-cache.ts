/** The logs that a store knows its way in: a bounded number, the least recently used one forgotten first. */

import { Serial } from "../serial.js";
import type { SessionLog } from "./session-log.js";

const MAX_LOGS = 1024;

interface Entry {
  readonly log: SessionLog;
  readonly writes: Serial;
  /** Calls under way. An entry in use is never forgotten: two would write the same log out of turn. */
  users: number;
}

export class LogCache {
  readonly #make: (id: string) => SessionLog;
  readonly #entries = new Map<string, Entry>();

  constructor(make: (id: string) => SessionLog) {
    this.#make = make;
  }

  read<T>(id: string, use: (log: SessionLog) => Promise<T>): Promise<T> {
    return this.#using(id, ({ log }) => use(log));
  }

  /** Writes to one session are made in the order in which they were asked for. */
  write<T>(id: string, use: (log: SessionLog) => Promise<T>): Promise<T> {
    return this.#using(id, ({ log, writes }) => writes.run(() => use(log)));
  }

  async #using<T>(id: string, use: (entry: Entry) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(id) ?? { log: this.#make(id), writes: new Serial(), users: 0 };
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    entry.users++;
    this.#forget();
    try {
      return await use(entry);
    } finally {
      entry.users--;
    }
  }

  #forget(): void {
    if (this.#entries.size <= MAX_LOGS) return;
    for (const [id, { users }] of this.#entries) {
      if (users === 0) this.#entries.delete(id);
      if (this.#entries.size <= MAX_LOGS) return;
    }
  }
}
