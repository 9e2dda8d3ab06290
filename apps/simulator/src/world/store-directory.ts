import type { OpenFile, StoreFiles } from "@leasehold/session-store";
import type { Disk, FileNode } from "./disk.js";
import type { FileCalls } from "./file-calls.js";

/** The simulated disk as the JSONL store sees it, below `root`. */
export function storeFilesOn(disk: Disk, calls: FileCalls, root: string): StoreFiles {
  const place = (path: string, bytes: Uint8Array, replaces: boolean): boolean => {
    const parent = path.slice(0, path.lastIndexOf("/"));
    disk.makeAll(parent);
    if (!replaces && disk.find(path) !== undefined) return false;
    disk.replace(path, disk.newFile(Buffer.from(bytes), true));
    disk.sync(parent);
    return true;
  };
  return {
    join: (...names) => [root, ...names].join("/"),
    entries: (directory) =>
      calls.step(() => {
        const node = disk.find(directory);
        return node?.kind === "directory" ? [...node.entries.keys()] : undefined;
      }),
    open: (path) =>
      calls.step(() => {
        const file = disk.file(path);
        return file && openFile(disk, calls, file);
      }),
    identity: (path) => calls.step(() => identityOf(disk.file(path))),
    publish: (path, bytes) => calls.create(path, 0, () => place(path, bytes, false)),
    replace: (path, bytes) =>
      calls.create(path, 0, () => {
        place(path, bytes, true);
      }),
    remove: (path) =>
      calls.step(() => {
        if (disk.find(path) !== undefined) disk.remove(path);
      }),
    watch: () => undefined,
  };
}

function openFile(disk: Disk, calls: FileCalls, file: FileNode): OpenFile {
  return {
    identity: `${file.id}`,
    size: file.bytes.length,
    append: (bytes) =>
      calls.append(bytes.length, (length) => {
        disk.append(file, bytes.subarray(0, length));
        return length;
      }),
    read: (position, length) => calls.step(() => Buffer.from(file.bytes.subarray(position, position + length))),
    sync: () =>
      calls.step(() => {
        file.durable = file.bytes.length;
      }),
    close: () => Promise.resolve(),
  };
}

function identityOf(file: FileNode | undefined): string | undefined {
  return file && `${file.id}`;
}
