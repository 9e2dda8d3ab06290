/**
 * A small file whose text changes from time to time: a token that is rotated, a list that an operator edits. It is looked at
 * when its text is wanted, once a second at most, and read again when it has changed. While it cannot be read, or `parse`
 * refuses it, the last text counts: an editor may be writing it, a mount may be swapped.
 */

import { readFile, stat } from "node:fs/promises";
import type { Clock } from "@leasehold/session-lease";

/** Ms between two looks. */
const LOOK_EVERY = 1_000;

export interface RotatedFileOptions<T> {
  readonly path: string;
  /** Throws for a text that makes no sense. Must not put the text into its message. */
  readonly parse: (text: string) => T;
  readonly clock: Pick<Clock, "monotonic">;
  /** The file has changed, and cannot be used: the last text goes on to count. */
  readonly onKept?: ((error: unknown) => void) | undefined;
  /** The file has changed, and counts from now on. */
  readonly onChanged?: ((value: T) => void) | undefined;
}

export class RotatedFile<T> {
  readonly #options: RotatedFileOptions<T>;
  #value: T;
  #version: string;
  #lookedAt: number;
  #looking: Promise<void> | undefined;

  private constructor(options: RotatedFileOptions<T>, version: string, value: T) {
    this.#options = options;
    this.#version = version;
    this.#value = value;
    this.#lookedAt = options.clock.monotonic();
  }

  /** Rejects with the error of the file system, or of `parse`. */
  static async open<T>(options: RotatedFileOptions<T>): Promise<RotatedFile<T>> {
    const version = await versionOf(options.path);
    return new RotatedFile(options, version, options.parse(await readFile(options.path, "utf8")));
  }

  /** Never rejects. */
  async current(): Promise<T> {
    if (this.#options.clock.monotonic() - this.#lookedAt >= LOOK_EVERY) {
      this.#looking ??= this.#readAgain().finally(() => {
        this.#looking = undefined;
      });
    }
    await this.#looking;
    return this.#value;
  }

  async #readAgain(): Promise<void> {
    const { path, parse, clock, onKept, onChanged } = this.#options;
    this.#lookedAt = clock.monotonic();
    try {
      // Before the reading: what is written meanwhile shows at the next look.
      const version = await versionOf(path);
      if (version === this.#version) return;
      this.#value = parse(await readFile(path, "utf8"));
      this.#version = version;
      onChanged?.(this.#value);
    } catch (error) {
      onKept?.(error);
    }
  }
}

/** Differs when the file was written, or another one stands in its place. */
async function versionOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}
