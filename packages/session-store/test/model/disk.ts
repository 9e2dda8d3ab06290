/**
 * `StoreFiles` in memory, for many simulated processes on one disk. Each verb takes effect in one step, and only once
 * the gate has let it: whoever holds the gates decides in which order processes come to their turns, and where one dies.
 */

import { join } from "node:path";
import type { OpenFile, StoreFiles } from "../../src/index.js";

/** What a process wants to do next. Two steps that share nothing one of them writes can change places. */
export interface Step {
  readonly verb: keyof StoreFiles | keyof OpenFile;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Bytes of an append. */
  readonly length: number;
}

/** How far a step goes: all the way, or so many bytes and then the disk is full (`short`). */
export type Permit = { readonly short?: number; readonly error?: string } | undefined;

/** Resolves when the step may be taken. A gate that never resolves is a process that died before it. */
export type Gate = (step: Step) => Promise<Permit>;

interface Inode {
  readonly identity: string;
  bytes: Buffer;
  /** How much of it would outlive a power cut. */
  synced: number;
}

export class Disk {
  readonly #names = new Map<string, Inode>();
  #inodes = 0;
  /** For a disk without O_APPEND: the file's end is what the writer knew when it opened the file. */
  appendsWhereOpened = false;
  /** For a disk whose `publish` takes the place of what is there, as a rename does. */
  publishReplaces = false;

  files(gate: Gate): StoreFiles {
    return {
      join: (...names) => join("/", ...names),
      entries: async (directory) => {
        await pass(gate, "entries", [directory], []);
        const prefix = directory === "/" ? "/" : `${directory}/`;
        const inside = [...this.#names.keys()].filter((path) => path.startsWith(prefix));
        const names = new Set(inside.map((path) => path.slice(prefix.length).replace(/\/.*/, "")));
        return names.size > 0 ? [...names] : undefined;
      },
      identity: async (path) => {
        await pass(gate, "identity", [path], []);
        return this.#names.get(path)?.identity;
      },
      open: async (path) => {
        await pass(gate, "open", [path, `${path}#`], []);
        const inode = this.#names.get(path);
        return inode && this.#openFile(gate, path, inode);
      },
      publish: async (path, bytes) => {
        await pass(gate, "publish", [], [path, `${path}#`, join(path, "..")]);
        if (this.#names.has(path) && !this.publishReplaces) return false;
        this.#put(path, bytes);
        return true;
      },
      replace: async (path, bytes) => {
        await pass(gate, "replace", [], [path, `${path}#`, join(path, "..")]);
        this.#put(path, bytes);
      },
      remove: async (path) => {
        await pass(gate, "remove", [], [path, join(path, "..")]);
        this.#names.delete(path);
      },
      watch: () => undefined,
    };
  }

  /** Everything that was not synced is gone. */
  cutPower(): void {
    for (const inode of this.#names.values()) inode.bytes = inode.bytes.subarray(0, inode.synced);
  }

  /** Writes past every gate: what a crash, a damaged sector or another program left. */
  scribble(path: string, bytes: string | Uint8Array): void {
    const inode = this.#names.get(path);
    if (inode === undefined) this.#put(path, Buffer.from(bytes));
    else inode.bytes = Buffer.concat([inode.bytes, Buffer.from(bytes)]);
  }

  text(path: string): string | undefined {
    return this.#names.get(path)?.bytes.toString();
  }

  get paths(): string[] {
    return [...this.#names.keys()].sort();
  }

  #put(path: string, bytes: Uint8Array): void {
    this.#names.set(path, { identity: `inode ${++this.#inodes}`, bytes: Buffer.from(bytes), synced: bytes.length });
  }

  #openFile(gate: Gate, path: string, inode: Inode): OpenFile {
    const size = inode.bytes.length;
    return {
      identity: inode.identity,
      size,
      append: async (bytes) => {
        const permit = await pass(gate, "append", [], [`${path}#`], bytes.length);
        const written = Buffer.from(bytes).subarray(0, permit?.short ?? bytes.length);
        const end = this.appendsWhereOpened ? size : inode.bytes.length;
        const rest = inode.bytes.subarray(end + written.length);
        inode.bytes = Buffer.concat([inode.bytes.subarray(0, end), written, rest]);
        return written.length;
      },
      read: async (position, length) => {
        await pass(gate, "read", [`${path}#`], []);
        return Buffer.from(inode.bytes.subarray(position, position + length));
      },
      sync: async () => {
        await pass(gate, "sync", [], []);
        inode.synced = inode.bytes.length;
      },
      close: async () => {},
    };
  }
}

export const openGate: Gate = async () => undefined;

async function pass(
  gate: Gate,
  verb: Step["verb"],
  reads: readonly string[],
  writes: readonly string[],
  length = 0,
): Promise<Permit> {
  const permit = await gate({ verb, reads, writes, length });
  if (permit?.error !== undefined) throw Object.assign(new Error(`${permit.error}: simulated`), { code: permit.error });
  return permit;
}
