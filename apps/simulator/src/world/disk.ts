/**
 * A file system in memory, as bad as POSIX allows: names and bytes that were not synced may be gone after a power cut, a
 * listing need not be true at any one instant, and every step takes its time.
 *
 * A directory's changes reach the disk in order (a journal): a power cut leaves what was synced and some of the changes
 * since, from the first on. Of a file's bytes it leaves those that were synced and some of the rest.
 */

import type { Random } from "../engine/random.js";

export type FileNode = { readonly kind: "file"; readonly id: number; bytes: Buffer; durable: number; changed: number };
export type DirectoryNode = {
  readonly kind: "directory";
  readonly id: number;
  entries: Map<string, Node>;
  synced: Map<string, Node>;
  /** Since `synced`, in order; an undefined node is a removal. */
  journal: { name: string; node: Node | undefined }[];
  changed: number;
};
export type Node = FileNode | DirectoryNode;

export type Listing = {
  readonly directory: DirectoryNode;
  readonly always: Set<string>;
  readonly sometimes: Set<string>;
};

export function errno(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

export class Disk {
  readonly #now: () => number;
  readonly #listings = new Set<Listing>();
  /** Paths that were asked for, in their parts. */
  readonly #parts = new Map<string, readonly string[]>();
  #made = 0;
  #root: DirectoryNode;

  /** `now`: epoch ms for the time of last change. */
  constructor(now: () => number) {
    this.#now = now;
    this.#root = this.#directory();
  }

  find(path: string): Node | undefined {
    let node: Node = this.#root;
    for (const name of this.#partsOf(path)) {
      if (node.kind === "file") throw errno("ENOTDIR", path);
      const next: Node | undefined = node.entries.get(name);
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  file(path: string): FileNode | undefined {
    const node = this.find(path);
    if (node?.kind === "directory") throw errno("EISDIR", path);
    return node;
  }

  directory(path: string): DirectoryNode {
    const node = this.find(path);
    if (node === undefined) throw errno("ENOENT", path);
    if (node.kind === "file") throw errno("ENOTDIR", path);
    return node;
  }

  /** Makes a directory and its parents, durably. */
  makeAll(path: string): DirectoryNode {
    let directory = this.#root;
    for (const name of this.#partsOf(path)) {
      let next = directory.entries.get(name);
      if (next === undefined) {
        next = this.#directory();
        this.#put(directory, name, next);
        sync(directory);
      }
      if (next.kind === "file") throw errno("EEXIST", path);
      directory = next;
    }
    return directory;
  }

  makeDirectory(path: string): void {
    this.add(path, this.#directory());
  }

  newFile(bytes: Buffer, durable: boolean): FileNode {
    this.#made += 1;
    return { kind: "file", id: this.#made, bytes, durable: durable ? bytes.length : 0, changed: this.#now() };
  }

  /** EEXIST if the name is taken. */
  add(path: string, node: Node): void {
    const { parent, name } = this.#split(path);
    if (parent.entries.has(name)) throw errno("EEXIST", path);
    this.#put(parent, name, node);
  }

  replace(path: string, node: Node): void {
    const { parent, name } = this.#split(path);
    this.#put(parent, name, node);
  }

  remove(path: string): void {
    const { parent, name } = this.#split(path);
    if (!parent.entries.delete(name)) throw errno("ENOENT", path);
    parent.journal.push({ name, node: undefined });
    parent.changed = this.#now();
    for (const listing of this.#listings) if (listing.directory === parent) listing.always.delete(name);
  }

  /** How many names a file has. */
  namesOf(file: FileNode, { entries }: DirectoryNode = this.#root): number {
    let names = 0;
    for (const node of entries.values()) {
      if (node === file) names += 1;
      else if (node.kind === "directory") names += this.namesOf(file, node);
    }
    return names;
  }

  append(file: FileNode, bytes: Uint8Array): void {
    file.bytes = Buffer.concat([file.bytes, bytes]);
    file.changed = this.#now();
  }

  sync(path: string): void {
    const node = this.find(path);
    if (node === undefined) throw errno("ENOENT", path);
    if (node.kind === "directory") sync(node);
    else node.durable = node.bytes.length;
  }

  beginListing(path: string): Listing {
    const directory = this.directory(path);
    const listing = { directory, always: new Set(directory.entries.keys()), sometimes: new Set<string>() };
    for (const name of listing.always) listing.sometimes.add(name);
    this.#listings.add(listing);
    return listing;
  }

  /** Names that were there from beginning to end, and some of those that were there at some time in between. */
  endListing(listing: Listing, random: Random): string[] {
    this.#listings.delete(listing);
    const { always, sometimes } = listing;
    return [...sometimes].filter((name) => always.has(name) || random.chance(0.5));
  }

  /** A copy of what is below a path, for `restore`; undefined if there is nothing. */
  copy(path: string): Node | undefined {
    const node = this.find(path);
    return node && this.#copyOf(node);
  }

  /** Puts a copy in the place of what is there; none leaves nothing. */
  restore(path: string, copy: Node | undefined): void {
    if (this.find(path) !== undefined) this.remove(path);
    if (copy !== undefined) this.add(path, this.#copyOf(copy));
    sync(this.#split(path).parent);
  }

  /** Everything that was not synced may be gone. */
  cutPower(random: Random): void {
    this.#listings.clear();
    const seen = new Set<Node>();
    const settle = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === "file") {
        const kept = random.whole(node.durable, node.bytes.length);
        node.bytes = node.bytes.subarray(0, kept);
        node.durable = kept;
        return;
      }
      const entries = new Map(node.synced);
      for (const { name, node: entry } of node.journal.slice(0, random.whole(0, node.journal.length))) {
        if (entry === undefined) entries.delete(name);
        else entries.set(name, entry);
      }
      node.entries = entries;
      sync(node);
      for (const entry of entries.values()) settle(entry);
    };
    settle(this.#root);
  }

  #directory(): DirectoryNode {
    this.#made += 1;
    const changed = this.#now();
    return { kind: "directory", id: this.#made, entries: new Map(), synced: new Map(), journal: [], changed };
  }

  #put(parent: DirectoryNode, name: string, node: Node): void {
    parent.entries.set(name, node);
    parent.journal.push({ name, node });
    parent.changed = this.#now();
    for (const listing of this.#listings) if (listing.directory === parent) listing.sometimes.add(name);
  }

  #copyOf(node: Node): Node {
    if (node.kind === "file") return this.newFile(Buffer.from(node.bytes), true);
    const copy = this.#directory();
    for (const [name, entry] of node.entries) copy.entries.set(name, this.#copyOf(entry));
    sync(copy);
    return copy;
  }

  #partsOf(path: string): readonly string[] {
    const known = this.#parts.get(path);
    if (known !== undefined) return known;
    const parts = path.split("/").filter((part) => part !== "");
    this.#parts.set(path, parts);
    return parts;
  }

  #split(path: string): { parent: DirectoryNode; name: string } {
    const at = path.lastIndexOf("/");
    return { parent: this.directory(path.slice(0, at)), name: path.slice(at + 1) };
  }
}

function sync(directory: DirectoryNode): void {
  directory.synced = new Map(directory.entries);
  directory.journal = [];
}
