/** The one place where failures of the file system become errors of the store. */

import { errnoOf, isErrno } from "@leasehold/session-lease/host";
import { findStoreError, StoreDeniedError, type StoreError, StoreUnavailableError } from "../errors.js";
import type { OpenFile, StoreFiles } from "./files.js";

/** A change of permissions or of the mount is needed; waiting does not help. */
const DENIED = ["EACCES", "EPERM", "EROFS"];

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
    entries: (directory) => mapped(directory, files.entries(directory)),
    identity: (path) => mapped(path, files.identity(path)),
    publish: (path, bytes) => mapped(path, files.publish(path, bytes)),
    replace: (path, bytes) => mapped(path, files.replace(path, bytes)),
    remove: (path) => mapped(path, files.remove(path)),
    join: (...names) => files.join(...names),
    open: async (path, mode) => {
      const file = await mapped(path, files.open(path, mode));
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

async function mapped<T>(path: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw fileError(error, path);
  }
}
