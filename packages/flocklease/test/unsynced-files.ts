import { diskFiles, type LeaseFiles } from "../src/index.js";

/** The disk without waiting for it: for tests that no power failure can spoil. */
export const unsyncedFiles: LeaseFiles = {
  ...diskFiles,
  write: (path, text) => diskFiles.write(path, text, false),
  syncDirectory: () => Promise.resolve(),
};
