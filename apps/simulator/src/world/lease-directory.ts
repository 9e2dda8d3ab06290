import type { LeaseFiles } from "@leasehold/flocklease";
import { type Disk, errno } from "./disk.js";
import type { FileCalls } from "./file-calls.js";

export interface DirectoryWitness {
  named(path: string): void;
  removed(path: string): void;
  read(path: string): void;
}

/**
 * The simulated disk as flocklease sees it. It cannot be watched: waiters poll. `hears` is told of each file or
 * directory that has been given another name, and of each file that has been removed or read.
 */
export function leaseFilesOn(disk: Disk, calls: FileCalls, hears: DirectoryWitness): LeaseFiles {
  const fileAt = (path: string) => {
    const file = disk.file(path);
    if (file === undefined) throw errno("ENOENT", path);
    return file;
  };
  return {
    makeRoot: (path) =>
      calls.create(path, 0, () => {
        disk.makeAll(path);
        return path;
      }),
    networkFileSystem: () => Promise.resolve(undefined),
    list: async (path) => {
      const listing = await calls.step(() => disk.beginListing(path));
      return calls.step(() => disk.endListing(listing, calls.process.random));
    },
    read: (path) =>
      calls.step(() => {
        const text = fileAt(path).bytes.toString();
        hears.read(path);
        return text;
      }),
    write: (path, text, durable) => {
      const bytes = Buffer.from(text);
      return calls.create(path, bytes.length, (length) => {
        const whole = length === bytes.length;
        disk.add(path, disk.newFile(bytes.subarray(0, length), durable && whole));
      });
    },
    link: (existing, path) =>
      calls.create(path, 0, () => {
        disk.add(path, fileAt(existing));
        hears.named(path);
      }),
    unlink: (path) =>
      calls.step(() => {
        fileAt(path);
        disk.remove(path);
        hears.removed(path);
      }),
    mkdir: (path) => calls.create(path, 0, () => disk.makeDirectory(path)),
    renameDirectory: (from, to) =>
      calls.step(() => {
        const moved = disk.directory(from);
        const present = disk.find(to);
        if (present?.kind === "file") throw errno("ENOTDIR", to);
        if (present !== undefined && present.entries.size > 0) throw errno("ENOTEMPTY", to);
        if (present !== undefined) disk.remove(to);
        disk.remove(from);
        disk.add(to, moved);
        hears.named(to);
      }),
    rmdir: (path) =>
      calls.step(() => {
        if (disk.directory(path).entries.size > 0) throw errno("ENOTEMPTY", path);
        disk.remove(path);
      }),
    syncDirectory: (path) => calls.step(() => disk.sync(path)),
    stat: (path) =>
      calls.step(() => {
        const node = disk.find(path);
        if (node === undefined) throw errno("ENOENT", path);
        return { size: node.kind === "file" ? node.bytes.length : 0, modifiedAt: node.changed };
      }),
    inode: (path) =>
      calls.step(() => {
        const node = disk.find(path);
        if (node === undefined) throw errno("ENOENT", path);
        return node.kind === "file" ? { id: `${node.id}`, links: disk.namesOf(node) } : { id: path, links: 1 };
      }),
    watch: (path) => {
      throw errno("ENOSPC", path);
    },
  };
}
