/** Where a recorder writes: line by line, each there for good when `write` returns. */

import { closeSync, openSync, writeSync } from "node:fs";

export interface Sink {
  write(line: string): void;
}

/** Keeps the lines in memory: for simulators and tests. `text` is a file of the format. */
export class MemorySink implements Sink {
  readonly #lines: string[] = [];

  write(line: string): void {
    this.#lines.push(line);
  }

  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join("");
  }
}

/**
 * Appends to a file of its own. Each line is one write to a descriptor in append mode, so that what a process had recorded
 * before it was killed is in the file, and its last line is whole. Synchronous on purpose: an event that waits in a buffer
 * is lost with its process. It is not synced: a history outlives processes, not machines.
 */
export class FileSink implements Sink {
  readonly #fd: number;

  constructor(path: string) {
    this.#fd = openSync(path, "a", 0o600);
  }

  write(line: string): void {
    writeSync(this.#fd, `${line}\n`);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
