/**
 * `StoreFiles` on the host's file system. The only file here that touches a disk.
 *
 * Needs a local file system with hard links and an O_APPEND that is atomic between processes: ext4, XFS, Btrfs, tmpfs,
 * APFS. NFS has no such append and must not be used; nothing here can tell it apart reliably.
 *
 * Directories are 0700 and files 0600: a session's events are nobody else's business.
 */

import { randomUUID } from "node:crypto";
import { constants, watch } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isErrno } from "@leasehold/session-lease/host";
import type { OpenFile, StoreFiles } from "./files.js";

/** Where files are made before they get their name; on the store's own file system, so that they can be linked. */
const WORKSHOP = ".new";

/** A file left in the workshop for so long belongs to a process that died. By the file system's own clock. */
const ABANDONED_MS = 3_600_000;

const FLAGS = {
  read: constants.O_RDONLY,
  append: constants.O_RDWR | constants.O_APPEND,
} as const;

/** @param directory made with its parents when something is first written. */
export function hostFiles(directory: string): StoreFiles {
  const root = resolve(directory);
  return {
    join: (...names) => join(root, ...names),
    entries: (path) => unlessMissing(readdir(path).catch((error: unknown) => throwNoDirectory(path, error))),
    identity: async (path) => {
      const found = await unlessMissing(stat(path, { bigint: true }));
      return found && identityOf(found);
    },
    open: async (path, mode) => {
      // O_NONBLOCK: a FIFO planted at the path must not hang the store; it is refused below.
      const handle = await unlessMissing(open(path, FLAGS[mode] | constants.O_NOFOLLOW | constants.O_NONBLOCK));
      return handle && (await openFile(handle, path));
    },
    publish: async (path, bytes) => {
      await makeDirectory(dirname(path));
      return await withDraft(root, bytes, (draft) => linked(draft, path));
    },
    replace: async (path, bytes) => {
      await makeDirectory(dirname(path));
      await withDraft(root, bytes, (draft) => rename(draft, path));
      await syncDirectory(dirname(path));
    },
    remove: async (path) => {
      await unlessMissing(unlink(path));
    },
    watch: (path, onChange) => watchDirectory(path, onChange),
  };
}

async function openFile(handle: FileHandle, path: string): Promise<OpenFile> {
  try {
    const found = await handle.stat({ bigint: true });
    if (!found.isFile()) throw Object.assign(new Error(`not a regular file: ${path}`), { code: "EFTYPE" });
    return {
      identity: identityOf(found),
      size: Number(found.size),
      append: async (bytes) => (await handle.write(bytes)).bytesWritten,
      read: (position, length) => readFully(handle, position, length),
      sync: () => handle.datasync(),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Tells what stands at the path and is no directory (EFTYPE) from what stands above it (ENOTDIR, as it was). */
async function throwNoDirectory(path: string, error: unknown): Promise<never> {
  const inTheWay =
    (error as NodeJS.ErrnoException).code === "ENOTDIR" && (await lstat(path).catch(() => undefined)) !== undefined;
  throw inTheWay ? Object.assign(new Error(`not a directory: ${path}`), { code: "EFTYPE" }) : error;
}

/** A read may come short in the middle of a file (a signal, a page boundary); the interface promises it does not. */
async function readFully(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** An inode's number is used again after its removal; its time of birth tells the two apart. */
function identityOf(stats: { dev: bigint; ino: bigint; birthtimeNs: bigint }): string {
  return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}

/**
 * With its parents. Not `recursive: true`: where a directory exists and takes no entries (`ENOENT`, as below /proc) Node 20
 * tries the two in turn for ever.
 */
async function makeDirectory(directory: string): Promise<void> {
  if ((await made(directory)) === "no parent") {
    await makeDirectory(dirname(directory));
    if ((await made(directory)) === "no parent") throw noEntries(directory);
  }
}

async function made(directory: string): Promise<"there" | "no parent"> {
  try {
    await mkdir(directory, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(directory) !== directory) return "no parent";
    if (code === "EEXIST" && (await stat(directory)).isDirectory()) return "there";
    throw error;
  }
  // A directory that is new is an entry in its parent that has to reach the disk.
  await syncDirectory(dirname(directory));
  return "there";
}

function noEntries(directory: string): Error {
  return Object.assign(new Error(`no directory can be made at ${directory}`), { code: "ENOENT" });
}

async function linked(draft: string, path: string): Promise<boolean> {
  let made = true;
  try {
    await link(draft, path);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
    made = false;
  }
  // Also when somebody else made it: the caller may go on to remove what it replaces.
  await syncDirectory(dirname(path));
  return made;
}

async function withDraft<T>(root: string, bytes: Uint8Array, use: (draft: string) => Promise<T>): Promise<T> {
  const workshop = join(root, WORKSHOP);
  await makeDirectory(workshop);
  const draft = join(workshop, randomUUID());
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
    await clearWorkshop(workshop, (await handle.stat()).mtimeMs);
    return await use(draft);
  } finally {
    await handle.close();
    await rm(draft, { force: true });
  }
}

async function clearWorkshop(workshop: string, now: number): Promise<void> {
  for (const name of await readdir(workshop)) {
    const path = join(workshop, name);
    const found = await unlessMissing(lstat(path));
    if (found !== undefined && now - found.mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function watchDirectory(directory: string, onChange: () => void): (() => void) | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, () => onChange());
    // The directory went away: the caller looks, and finds out what that means.
    watcher.on("error", () => onChange());
    return () => watcher.close();
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}
