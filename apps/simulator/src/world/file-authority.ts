import { flocklease, noLock } from "@leasehold/flocklease";
import { decodeRecord, type FullSessionLease, type LeaseRecord, type ProcessIdentity } from "@leasehold/session-lease";
import type { HostClocks } from "../engine/host-clock.js";
import type { SimProcess } from "../engine/sim-process.js";
import type { Authority } from "./authority.js";
import type { Disk, Node } from "./disk.js";
import type { FileCalls } from "./file-calls.js";
import { leaseFilesOn } from "./lease-directory.js";

const DIRECTORY = "/leases";

export interface FileAuthorityParts {
  readonly disk: Disk;
  readonly clocks: HostClocks;
  readonly callsOf: (process: SimProcess) => FileCalls;
  readonly isGone: (process: ProcessIdentity) => boolean;
  readonly onStored: (process: string, session: string, record: LeaseRecord) => void;
  /** Something that had been wiped was seen again, for a moment. */
  readonly onSeenAgain: () => void;
  /** The record that counts is gone. `left`: an older one that came again with a restored copy counts now. */
  readonly onLost: (session: string, left: "older" | "nothing") => void;
  /** A hold that had been wiped lives on in what this process wrote. */
  readonly onRevival: (process: string, path: string) => void;
  readonly ttl: number;
  readonly forgetAfter: number;
}

/**
 * flocklease in a directory of the machine that all processes share. No step of it depends on its lock, so it is given
 * none. It is restored in one step, as by renaming a directory, and wiped in one, of its records but not of their stems.
 */
export class FileAuthority implements Authority {
  readonly clocks: HostClocks;
  readonly #parts: FileAuthorityParts;
  /** Records that follow none. */
  readonly #strays = new Set<string>();
  /** Records that were written on one of those, or on each other: they stand or fall with it. */
  readonly #leaning = new Set<string>();
  readonly #seen = new Set<string>();
  /** Whose stem it is. */
  readonly #sessions = new Map<string, string>();
  /** Who has linked in which stem since an older copy was restored; undefined if none ever was. */
  #linked: Set<string> | undefined;

  constructor(parts: FileAuthorityParts) {
    this.#parts = parts;
    this.clocks = parts.clocks;
  }

  leaseFor(process: SimProcess): FullSessionLease {
    const { disk, callsOf, isGone, ttl, forgetAfter } = this.#parts;
    return flocklease({
      dir: DIRECTORY,
      ttl,
      forgetAfter,
      clock: process.clock,
      files: leaseFilesOn(disk, callsOf(process), {
        named: (path) => this.#named(process, path),
        removed: (path) => this.#removed(process, path),
        read: (path) => this.#read(path),
      }),
      lock: noLock,
      processes: { own: () => process.identity, isGone },
      random: () => process.random.next(),
    });
  }

  /**
   * A link that was under way when the records were wiped makes the number after one that is gone. Its writer takes it back;
   * until then whoever reads it takes it for the record, may end its hold, and so the wipe has not been the end of it.
   */
  #read(path: string): void {
    if (!this.#strays.has(path) || this.#seen.has(path)) return;
    this.#seen.add(path);
    this.#parts.onSeenAgain();
  }

  /** A record has been stored if its number follows the highest one, or its stem is new. */
  #named(process: SimProcess, path: string): void {
    const { disk, onStored } = this.#parts;
    const node = disk.find(path);
    const stem = node?.kind === "directory" ? path : stemOf(path);
    this.#linked?.add(`${process.name} ${stem}`);
    const numbers = [...disk.directory(stem).entries.keys()].map(Number).sort((a, b) => a - b);
    const highest = numbers.at(-1);
    if (node?.kind === "file" && path !== `${stem}/${highest}`) return;
    if (node?.kind === "file" && numbers.at(-2) !== Number(highest) - 1) {
      this.#strays.add(path);
      return;
    }
    // After an older copy was restored, the number that a late writer took back may come again.
    this.#strays.delete(path);
    const before = `${stem}/${Number(highest) - 1}`;
    if (this.#strays.has(before) || this.#leaning.has(before)) this.#leaning.add(path);
    else this.#leaning.delete(path);
    const stored = this.#recordAt(`${stem}/${highest}`);
    if (stored === undefined) return;
    const { sessionId, record } = stored;
    this.#sessions.set(stem, sessionId);
    const follows = this.#strays.has(before) ? this.#recordAt(before)?.record : undefined;
    if (record.standing === "held" && follows?.token === record.token) this.#parts.onRevival(process.name, before);
    onStored(process.name, sessionId, record);
  }

  /**
   * Nobody removes the highest number to tidy, but in two cases. A record that leans on a stray is taken back when its writer
   * misses the stray. And a process that wrote before an older copy was restored may tidy after it, where numbers come again;
   * whoever has written upon what it removes, and looks only now, misses that as well.
   */
  #removed(process: SimProcess, path: string): void {
    const { disk, onLost } = this.#parts;
    const stem = stemOf(path);
    const session = this.#sessions.get(stem);
    if (session === undefined) return;
    const leant = this.#leaning.delete(path);
    const isLate = this.#linked !== undefined && !this.#linked.has(`${process.name} ${stem}`);
    if (!leant && !isLate) return;
    const removed = Number(path.slice(stem.length + 1));
    const after = `${stem}/${removed + 1}`;
    const built = disk.file(after);
    // By its second name: its writer has not found its predecessor yet.
    if (isLate && built !== undefined && disk.namesOf(built) > 1) this.#leaning.add(after);
    const left = [...disk.directory(stem).entries.keys()];
    if (left.some((number) => Number(number) > removed)) return;
    onLost(session, left.some((number) => !this.#strays.has(`${stem}/${number}`)) ? "older" : "nothing");
  }

  /** Undefined for a void record, or none at all: nothing is held by it. */
  #recordAt(path: string): ReturnType<typeof decodeRecord> | undefined {
    try {
      return decodeRecord(this.#parts.disk.file(path)?.bytes.toString() ?? "");
    } catch {
      return undefined;
    }
  }

  now(): number {
    return Math.floor(this.#parts.clocks.wall());
  }

  copy(): Node | undefined {
    return this.#parts.disk.copy(DIRECTORY);
  }

  restore(copy: unknown): void {
    this.#parts.disk.restore(DIRECTORY, copy as Node | undefined);
    this.#linked = new Set();
  }

  wipe(): void {
    const { disk } = this.#parts;
    const root = disk.find(DIRECTORY);
    if (root?.kind !== "directory") return;
    for (const [name, stem] of root.entries) {
      if (stem.kind !== "directory" || name.startsWith(".")) continue;
      for (const record of [...stem.entries.keys()]) disk.remove(`${DIRECTORY}/${name}/${record}`);
    }
  }
}

function stemOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
