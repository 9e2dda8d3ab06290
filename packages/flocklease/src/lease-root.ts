/**
 * The directory that holds everything:
 *
 *     domain          random id, made once
 *     .asked/         rings when a holder is asked to let go; made by the first who listens
 *     .work/XX/       what is under construction, and lock directories of proper-lockfile; on the same file system
 *     SLUG-HASH/N     stems, and the numbered records in them
 *
 * XX is one of 256: writers of different sessions that made their files in one directory would wait for each other at its
 * inode, which costs half of the throughput of eight processes.
 *
 * States: *unopened* (nothing looked at), *opening* (one attempt that all callers share), *open* (made, judged and named),
 * and *unopened* again when opening failed or the directory turned out to be gone.
 */

import { randomBytes, randomUUID } from "node:crypto";
import path from "node:path";
import { LeaseCorruptError, LeaseUnavailableError, LeaseUnsupportedError } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { fileError, linkError, quietly } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type OpenRoot = Readonly<{ path: string; domain: string }>;

/** Where things are under construction, below the root. */
export const WORK = ".work";

/** Whether a name below it is that of a workplace, and not of something under construction. */
export function isWorkplace(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

export class LeaseRoot {
  readonly #files: LeaseFiles;
  readonly #directory: string;
  /** No other process, nor a later one with this pid, makes the same names. */
  readonly #ownName = randomBytes(9).toString("hex");
  #made = 0;
  /** Workplaces that are known to exist. */
  readonly #workplaces = new Set<string>();
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
    this.#workplaces.clear();
  }

  /** The directory in which this stem's files are made and its lock is kept. */
  workplace(root: OpenRoot, stem: string): string | Promise<string> {
    const place = `${root.path}/${WORK}/${stem.slice(-2)}`;
    return this.#workplaces.has(place) ? place : this.#makeWorkplace(place);
  }

  /** A path in that place that nobody else uses. */
  temporary(place: string): string {
    this.#made += 1;
    return `${place}/${this.#ownName}-${this.#made}`;
  }

  async #makeWorkplace(place: string): Promise<string> {
    await this.#files.mkdir(place).catch((error: unknown) => {
      // Without its parent there is nothing to build in, and whoever tries to will find that out.
      if (!isErrno(error, "EEXIST", "ENOENT")) throw fileError(error, place);
    });
    this.#workplaces.add(place);
    return place;
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
    const work = path.join(root, WORK);
    await files.mkdir(work).catch((error: unknown) => {
      if (!isErrno(error, "EEXIST")) throw fileError(error, work);
    });
    return { path: root, domain: await this.#domain(root, work) };
  }

  /** Only the first link(2) to the name succeeds, so that all processes agree, from the first reading on. */
  async #domain(root: string, work: string): Promise<string> {
    const files = this.#files;
    const file = path.join(root, "domain");
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
      const temporary = this.temporary(work);
      await files.write(temporary, `${randomUUID()}\n`, true).catch((error: unknown) => {
        throw fileError(error, temporary);
      });
      try {
        await files.link(temporary, file);
        await files.syncDirectory(root);
      } catch (error) {
        if (!isErrno(error, "EEXIST")) throw linkError(error, file);
      } finally {
        await quietly(files.unlink(temporary));
      }
    }
  }
}
