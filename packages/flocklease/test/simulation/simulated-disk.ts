/**
 * A file system in memory, whose every step waits for the schedule, and whose listings are as bad as POSIX allows: a name
 * that is there from beginning to end is listed, one that never was is not, and of the others any may be.
 */

import type { LeaseFiles } from "../../src/index.js";
import type { Footprint } from "./footprint.js";
import type { Schedule } from "./schedule.js";

type Node = { text: string } | { entries: Map<string, Node> };
type Directory = Extract<Node, { entries: unknown }>;
/** No path: what every step that gives a file a name, or takes one from it, has in common. */
const NAMES = "names of files";

type DiskStep = <T>(label: string, path: string, footprint: Footprint, effect: () => T) => Promise<T>;
type Listing = { readonly directory: Directory; readonly always: Set<string>; readonly ever: Set<string> };

/** Ways to break it, each of which an exploration must notice. */
export type Flaw = "link overwrites" | "rename onto a full directory" | "rmdir of a full directory";

/** Without a stack, which would cost more than the step that fails: how it came about is in the schedule's trace. */
function errno(code: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(code), { code });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

export class SimulatedDisk {
  readonly #schedule: Schedule;
  readonly #flaw: Flaw | undefined;
  readonly #top: Directory = { entries: new Map() };
  readonly #listings = new Set<Listing>();
  readonly #ids = new WeakMap<Node, string>();
  #identified = 0;

  constructor(schedule: Schedule, flaw?: Flaw) {
    this.#schedule = schedule;
    this.#flaw = flaw;
  }

  /** The disk as one process sees it. */
  seenBy(process: string): LeaseFiles {
    const step: DiskStep = (label, path, footprint, effect) =>
      this.#schedule.step(process, `${label} ${path.slice(path.indexOf("/", 1) + 1)}`, footprint, effect);
    return {
      makeRoot: (path) =>
        step("make", path, { all: true }, () => {
          this.#makeAll(path);
          return path;
        }),
      networkFileSystem: () => Promise.resolve(undefined),
      list: (path) => this.#list(step, path),
      read: (path) =>
        step("read", path, { reads: [path] }, () => {
          const node = this.#node(path);
          if (node === undefined) throw errno("ENOENT");
          if ("entries" in node) throw errno("EISDIR");
          return node.text;
        }),
      write: (path, text) => step("write", path, { writes: [path] }, () => this.#add(path, { text })),
      link: (existing, path) =>
        step("link", path, { reads: [existing, NAMES], writes: [path] }, () => {
          const node = this.#node(existing);
          if (node === undefined) throw errno("ENOENT");
          if (this.#flaw === "link overwrites" && this.#node(path) !== undefined) this.#remove(path);
          this.#add(path, node);
        }),
      unlink: (path) =>
        step("unlink", path, { reads: [NAMES], writes: [path] }, () => {
          const node = this.#node(path);
          if (node !== undefined && "entries" in node) throw errno("EISDIR");
          this.#remove(path);
        }),
      mkdir: (path) => step("mkdir", path, { writes: [path] }, () => this.#add(path, { entries: new Map() })),
      renameDirectory: (from, to) =>
        step("rename onto", to, { lists: [to], writes: [from, to] }, () => {
          const node = this.#node(from);
          if (node === undefined) throw errno("ENOENT");
          const present = this.#node(to);
          if (present !== undefined && !("entries" in present)) throw errno("ENOTDIR");
          if (present !== undefined && present.entries.size > 0 && this.#flaw !== "rename onto a full directory") {
            throw errno("ENOTEMPTY");
          }
          if (present !== undefined) this.#remove(to);
          this.#remove(from);
          this.#add(to, node);
        }),
      rmdir: (path) =>
        step("rmdir", path, { lists: [path], writes: [path] }, () => {
          const isFull = this.#directory(path).entries.size > 0;
          if (isFull && this.#flaw !== "rmdir of a full directory") throw errno("ENOTEMPTY");
          this.#remove(path);
        }),
      syncDirectory: () => Promise.resolve(),
      stat: (path) =>
        step("stat", path, { reads: [path] }, () => {
          const node = this.#node(path);
          if (node === undefined) throw errno("ENOENT");
          return { size: "text" in node ? Buffer.byteLength(node.text) : 0, modifiedAt: Number.POSITIVE_INFINITY };
        }),
      inode: (path) =>
        step("inode of", path, { reads: [path], writes: [NAMES] }, () => {
          const node = this.#node(path);
          if (node === undefined) throw errno("ENOENT");
          return { id: this.#idOf(node), links: "text" in node ? this.#namesOf(node, this.#top) : 1 };
        }),
      watch: () => {
        throw errno("ENOSPC");
      },
    };
  }

  /** The names in a directory as they truly are, now; none if there is no such directory. */
  names(path: string): string[] {
    const node = this.#node(path);
    return node !== undefined && "entries" in node ? [...node.entries.keys()] : [];
  }

  text(path: string): string | undefined {
    const node = this.#node(path);
    return node !== undefined && "text" in node ? node.text : undefined;
  }

  /** Puts a file there, whatever was there before. */
  put(path: string, text: string): void {
    if (this.#node(path) !== undefined) this.#remove(path);
    this.#add(path, { text });
  }

  /** Removes whatever is in a directory, in one instant. */
  empty(path: string): void {
    for (const name of this.names(path)) this.#remove(`${path}/${name}`);
  }

  #idOf(node: Node): string {
    const id = this.#ids.get(node) ?? `${this.#identified}`;
    if (!this.#ids.has(node)) this.#identified += 1;
    this.#ids.set(node, id);
    return id;
  }

  #namesOf(file: Node, { entries }: Directory): number {
    let names = 0;
    for (const node of entries.values()) {
      if (node === file) names += 1;
      else if ("entries" in node) names += this.#namesOf(file, node);
    }
    return names;
  }

  async #list(step: DiskStep, path: string): Promise<string[]> {
    const listing = await step("list", path, { lists: [path] }, () => {
      const directory = this.#directory(path);
      const begun = { directory, always: new Set(directory.entries.keys()), ever: new Set(directory.entries.keys()) };
      this.#listings.add(begun);
      return begun;
    });
    return step("end of list", path, { lists: [path] }, () => {
      this.#listings.delete(listing);
      const { always, ever } = listing;
      const doubtful = [...ever].filter((name) => !always.has(name));
      const chosen = this.#schedule.answer(2 ** doubtful.length);
      const shown = doubtful.filter((_, at) => (chosen & (1 << at)) === 0);
      return [...always, ...shown];
    });
  }

  #makeAll(path: string): void {
    let directory = this.#top;
    for (const name of path.split("/").filter((part) => part !== "")) {
      let next = directory.entries.get(name);
      if (next === undefined) {
        next = { entries: new Map() };
        directory.entries.set(name, next);
      }
      if (!("entries" in next)) throw errno("ENOTDIR");
      directory = next;
    }
  }

  #node(path: string): Node | undefined {
    let node: Node = this.#top;
    for (const name of path.split("/")) {
      if (name === "") continue;
      if (!("entries" in node)) throw errno("ENOTDIR");
      const next: Node | undefined = node.entries.get(name);
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  #directory(path: string): Directory {
    const node = this.#node(path);
    if (node === undefined) throw errno("ENOENT");
    if (!("entries" in node)) throw errno("ENOTDIR");
    return node;
  }

  #split(path: string): { directory: Directory; name: string } {
    const at = path.lastIndexOf("/");
    return { directory: this.#directory(path.slice(0, at)), name: path.slice(at + 1) };
  }

  #add(path: string, node: Node): void {
    const { directory, name } = this.#split(path);
    if (directory.entries.has(name)) throw errno("EEXIST");
    directory.entries.set(name, node);
    for (const listing of this.#listings) if (listing.directory === directory) listing.ever.add(name);
  }

  #remove(path: string): void {
    const { directory, name } = this.#split(path);
    if (!directory.entries.delete(name)) throw errno("ENOENT");
    for (const listing of this.#listings) if (listing.directory === directory) listing.always.delete(name);
  }
}
