import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const made: string[] = [];

/** A new directory, which `removeDirectories` takes away. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "flocklease-"));
  made.push(directory);
  return directory;
}

export function removeDirectories(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}
