/**
 * The directory that holds everything:
 *
 *     domain          random id, made once
 *     .tmp/           records and stems under construction, on the same file system
 *     .locks/         lock directories of proper-lockfile
 *     SLUG-HASH/N     stems, and the numbered records in them
 *
 * States: *unopened* (nothing looked at), *opening* (one attempt that all callers share), *open* (made, judged and named),
 * and *unopened* again when opening failed or the directory turned out to be gone.
 */

import { randomBytes, randomUUID } from "node:crypto";
import path from "node:path";
import { LeaseCorruptError, LeaseUnavailableError, LeaseUnsupportedError } from "@leasehold/session-lease";
import { fileError, isErrno, linkError, quietly } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type OpenRoot = Readonly<{ path: string; domain: string; locks: string }>;

export class LeaseRoot {
  readonly #files: LeaseFiles;
  readonly #directory: string;
  /** No other process, nor a later one with this pid, makes the same names. */
  readonly #ownName = randomBytes(9).toString("hex");
  #made = 0;
  #opening: Promise<OpenRoot> | undefined;
  #open: OpenRoot | undefined;

  constructor(files: LeaseFiles, directory: string) {
    this.#files = files;
    this.#directory = path.resolve(directory);
  }

  /** Where it is, as it was given; `open` tells where that really is. */
  get givenPath(): string {
    return this.#directory;
  }

  /** Makes what is missing. Rejects with `denied`, `unavailable`, `unsupported` or `corrupt`; the next call tries again. */
  open(): OpenRoot | Promise<OpenRoot> {
    if (this.#open !== undefined) return this.#open;
    this.#opening ??= this.#make().then(
      (open) => {
        this.#open = open;
        this.#opening = undefined;
        return open;
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** Something that `open` made is gone: the next call makes it again. */
  reopen(): void {
    this.#open = undefined;
  }

  /** A path for something under construction that nobody else uses. */
  temporary(root: OpenRoot): string {
    this.#made += 1;
    return path.join(root.path, ".tmp", `${this.#ownName}-${this.#made}`);
  }

  async #make(): Promise<OpenRoot> {
    const files = this.#files;
    const root = await files.makeRoot(this.#directory).catch((error: unknown) => {
      if (!isErrno(error, "EEXIST")) throw fileError(error, this.#directory);
      const message = `${this.#directory}: there is a file where a directory should be; it has been left alone (EEXIST)`;
      throw new LeaseUnavailableError(message, { cause: error });
    });
    const network = await files.networkFileSystem(root).catch((error: unknown) => {
      throw fileError(error, root);
    });
    if (network !== undefined) {
      throw new LeaseUnsupportedError(
        `${root} is on a network file system (${network}), where several hosts with several clocks would meet; choose a directory on a local disk, or a backend for several hosts`,
        { retryable: false },
      );
    }
    const locks = path.join(root, ".locks");
    for (const directory of [path.join(root, ".tmp"), locks]) {
      await files.mkdir(directory).catch((error: unknown) => {
        if (!isErrno(error, "EEXIST")) throw fileError(error, directory);
      });
    }
    const open = { path: root, locks, domain: "" };
    return { ...open, domain: await this.#domain(open) };
  }

  /** Only the first link(2) to the name succeeds, so that all processes agree, from the first reading on. */
  async #domain(root: OpenRoot): Promise<string> {
    const files = this.#files;
    const file = path.join(root.path, "domain");
    for (;;) {
      const text = await files.read(file).catch((error: unknown) => {
        if (isErrno(error, "ENOENT")) return undefined;
        throw fileError(error, file);
      });
      if (text !== undefined) {
        const domain = text.trim();
        if (UUID.test(domain)) return domain;
        throw new LeaseCorruptError(`${file} does not hold the id of this directory; remove it to have a new one made`);
      }
      const temporary = this.temporary(root);
      await files.write(temporary, `${randomUUID()}\n`, true).catch((error: unknown) => {
        throw fileError(error, temporary);
      });
      try {
        await files.link(temporary, file);
        await files.syncDirectory(root.path);
      } catch (error) {
        if (!isErrno(error, "EEXIST")) throw linkError(error, file);
      } finally {
        await quietly(files.unlink(temporary));
      }
    }
  }
}
