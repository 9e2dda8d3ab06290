/** The one place where failures of the file system become errors of the store. */

import { errnoOf, isErrno } from "@leasehold/session-lease/host";
import {
  findStoreError,
  StoreCorruptError,
  StoreDeniedError,
  type StoreError,
  StoreUnavailableError,
} from "../errors.js";
import type { OpenFile, StoreFiles } from "./files.js";

/** A change of permissions or of the mount is needed; waiting does not help. */
const DENIED = ["EACCES", "EPERM", "EROFS"];

/** A directory, a link or a socket where a file should be, or a file for a directory: it stays until somebody clears it away. */
const NO_FILE = new Set(["EFTYPE", "EISDIR", "ELOOP", "ENXIO"]);

/** @param path what was being touched; always named, since the system's own message often leaves it out. */
export function fileError(error: unknown, path: string): StoreError {
  const known = findStoreError(error);
  if (known !== undefined) return known;
  const reason = `${path}: ${errnoOf(error) ?? String((error as { message?: unknown }).message)}`;
  if (isErrno(error, ...DENIED)) {
    return new StoreDeniedError(`the store may not be used by this process: ${reason}`, path, { cause: error });
  }
  return new StoreUnavailableError(`the store's files cannot be used: ${reason}`, path, { cause: error });
}

/** The same files, failing with the store's errors. */
export function withStoreErrors(files: StoreFiles): StoreFiles {
  return {
    entries: (directory) => mapped(directory, shaped(directory, files.entries(directory), directory !== files.join())),
    identity: (path) => mapped(path, files.identity(path)),
    publish: (path, bytes) => mapped(path, files.publish(path, bytes)),
    replace: (path, bytes) => mapped(path, files.replace(path, bytes)),
    remove: (path) => mapped(path, files.remove(path)),
    join: (...names) => files.join(...names),
    open: async (path, mode) => {
      const file = await mapped(path, shaped(path, files.open(path, mode)));
      return file && withFileErrors(path, file);
    },
    watch: (directory, onChange) => {
      try {
        return files.watch(directory, onChange);
      } catch (error) {
        throw fileError(error, directory);
      }
    },
  };
}

function withFileErrors(path: string, file: OpenFile): OpenFile {
  return {
    identity: file.identity,
    size: file.size,
    append: (bytes) => mapped(path, file.append(bytes)),
    read: (position, length) => mapped(path, file.read(position, length)),
    sync: () => mapped(path, file.sync()),
    close: () => mapped(path, file.close()),
  };
}

/** What is of the wrong kind is damage of one session, not an outage. */
async function shaped<T>(path: string, call: Promise<T>, ofOneSession = true): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== "string" || !NO_FILE.has(code) || !ofOneSession) throw error;
    throw new StoreCorruptError(`what stands there is no file of this store (${code})`, path);
  }
}

async function mapped<T>(path: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw fileError(error, path);
  }
}
