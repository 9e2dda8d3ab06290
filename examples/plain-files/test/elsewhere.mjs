import { fileLease } from "../dist/file-lease.js";

export const open = (root, clock) => fileLease({ root, clock });
