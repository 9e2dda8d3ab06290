import { fileURLToPath } from "node:url";
import type { Backend } from "./backend.js";
import { BackendUsageError } from "./usage-error.js";

/** A directory on this host. The path is taken as it stands, unless two slashes make it a file URL. */
export const fileBackend: Backend = {
  scheme: "file",
  example: "file:/var/lib/leasehold/leases",
  open: async (place, options) => {
    const dir = place.startsWith("//") ? pathOfUrl(`file:${place}`) : place;
    if (dir.trim() === "") throw new BackendUsageError("file: names no directory; write file:/path/to/leases");
    if (dir.includes("\0")) throw new BackendUsageError("file: names a directory with a NUL character in it");
    const { flocklease } = await import("@leasehold/flocklease");
    return flocklease({ dir, ...options });
  },
};

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw new BackendUsageError(`${url} is no path on this host; write file:/path/to/leases`);
  }
}
