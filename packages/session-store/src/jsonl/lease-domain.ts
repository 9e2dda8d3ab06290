/**
 * The lease domain that a directory belongs to: one small file, published once, so that of two servers that start at
 * the same moment with different locks exactly one is let in.
 */

import { LeaseDomainMismatchError, StoreCorruptError } from "../errors.js";
import type { StoreFiles } from "./files.js";
import { DOMAIN_FILE } from "./names.js";

const MAX_FILE_BYTES = 4096;

export async function readDomain(files: StoreFiles): Promise<string | undefined> {
  const path = files.join(DOMAIN_FILE);
  const file = await files.open(path, "read");
  if (file === undefined) return undefined;
  try {
    return parseDomain(Buffer.from(await file.read(0, MAX_FILE_BYTES)).toString("utf8"), path);
  } finally {
    await file.close();
  }
}

export async function adoptDomain(files: StoreFiles, domain: string, force: boolean): Promise<void> {
  const path = files.join(DOMAIN_FILE);
  const bytes = Buffer.from(`${JSON.stringify({ v: 1, domain })}\n`);
  if (force) return await files.replace(path, bytes);
  // Looked at first: a store that is only read may be on a read-only disk.
  const stored = (await readDomain(files)) ?? ((await files.publish(path, bytes)) ? domain : await readDomain(files));
  if (stored !== undefined && stored !== domain) throw new LeaseDomainMismatchError(stored, domain);
}

function parseDomain(text: string, path: string): string {
  try {
    const { v, domain } = JSON.parse(text) as { v?: unknown; domain?: unknown };
    if (v === 1 && typeof domain === "string" && domain !== "") return domain;
  } catch {
    // Reported below, with every other way of not being a lease domain.
  }
  throw new StoreCorruptError("the file does not name a lease domain (adopt one by force to repair it)", path);
}
