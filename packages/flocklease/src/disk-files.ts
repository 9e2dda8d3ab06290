/**
 * The real file system. Callbacks rather than `fs/promises`, whose file handles cost a renewal about a third more.
 * Everything goes through libuv's thread pool, so that a slow disk never stops the event loop.
 */

import fs from "node:fs";
import { dirname } from "node:path";
import { isErrno } from "@leasehold/session-lease/host";
import type { LeaseFiles } from "./lease-files.js";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

/** `f_type` of statfs(2) on Linux: what would give several hosts, and several clocks, one directory. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xfe534d42, "SMB"],
  [0xff534d42, "CIFS"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x01161970, "GFS2"],
  [0x7461636f, "OCFS2"],
]);

/** Directories cannot be synced there: Windows opens none, and some file systems refuse. */
const CANNOT_SYNC: readonly string[] = ["EINVAL", "ENOTSUP", "EPERM", "EISDIR"];

type Done = (error: Error | null) => void;

function done(start: (callback: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null ? resolve() : reject(error)));
  });
}

function answer<T>(start: (callback: (error: Error | null, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error === null ? resolve(value) : reject(error)));
  });
}

async function writeDurably(path: string, text: string): Promise<void> {
  const handle = await fs.promises.open(path, "wx", PRIVATE_FILE);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Not `recursive: true`: where a directory exists and takes no entries (`ENOENT`, as below /proc) Node 20 tries the two in
 * turn for ever.
 */
async function makeWithParents(directory: string): Promise<void> {
  try {
    await fs.promises.mkdir(directory, PRIVATE_DIRECTORY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(directory);
    if (code === "EEXIST") return await requireDirectory(directory, error);
    if (code !== "ENOENT" || parent === directory) throw error;
    await makeWithParents(parent);
    await fs.promises.mkdir(directory, PRIVATE_DIRECTORY).catch(async (again: unknown) => {
      if ((again as NodeJS.ErrnoException).code !== "EEXIST") throw again;
      await requireDirectory(directory, again);
    });
  }
}

/** Throws `error` unless the directory is there, as such or behind a link. */
async function requireDirectory(directory: string, error: unknown): Promise<void> {
  const found = await fs.promises.stat(directory);
  if (!found.isDirectory()) throw error;
}

/** The file system of this host. */
export const diskFiles: LeaseFiles = {
  async makeRoot(path) {
    await makeWithParents(path);
    return fs.promises.realpath(path);
  },
  async networkFileSystem(path) {
    if (process.platform !== "linux") return undefined;
    const { type } = await fs.promises.statfs(path);
    // A 32-bit field that some platforms widen with its sign.
    return NETWORK_FILE_SYSTEMS.get(type >>> 0);
  },
  list: (path) => answer((callback) => fs.readdir(path, callback)),
  read: (path) => answer((callback) => fs.readFile(path, "utf8", callback)),
  write: (path, text, durable) =>
    durable
      ? writeDurably(path, text)
      : done((callback) => fs.writeFile(path, text, { flag: "wx", mode: PRIVATE_FILE }, callback)),
  link: (existing, path) => done((callback) => fs.link(existing, path, callback)),
  unlink: (path) => done((callback) => fs.unlink(path, callback)),
  mkdir: (path) => done((callback) => fs.mkdir(path, PRIVATE_DIRECTORY, callback)),
  renameDirectory: (from, to) => done((callback) => fs.rename(from, to, callback)),
  rmdir: (path) => done((callback) => fs.rmdir(path, callback)),
  async syncDirectory(path) {
    try {
      const handle = await fs.promises.open(path, "r");
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (!isErrno(error, ...CANNOT_SYNC)) throw error;
    }
  },
  async stat(path) {
    const { size, mtimeMs } = await answer<fs.Stats>((callback) => fs.lstat(path, callback));
    return { size, modifiedAt: mtimeMs };
  },
  async inode(path) {
    // Some file systems number their inodes beyond what a double tells apart.
    const found = await answer<fs.BigIntStats>((callback) => fs.lstat(path, { bigint: true }, callback));
    return { id: `${found.dev}:${found.ino}`, links: found.isDirectory() ? 1 : Number(found.nlink) };
  },
  watch(path, onEvent, onLost) {
    const watcher = fs.watch(path, { persistent: false }, (_event, name) => onEvent(name ?? undefined));
    watcher.on("error", () => {
      watcher.close();
      onLost();
    });
    return () => watcher.close();
  },
};
