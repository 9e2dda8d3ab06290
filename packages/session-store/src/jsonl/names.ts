/**
 * Where a session's files are. `<directory>/<stem>/<generation>.jsonl`: the stem is a readable piece of the id and 128
 * bits of its SHA-256, so that no id leads out of the directory, and ids that differ only in case, in normal form or
 * after 300 characters have files of their own on every file system. The id itself is in the file, and checked.
 */

import { createHash } from "node:crypto";

const STEM = /^[a-z0-9_-]{1,32}\.[0-9a-f]{32}$/;
const GENERATION = /^([1-9]\d{0,14})\.jsonl$/;

/** File, in the store's directory, that names the lease domain. */
export const DOMAIN_FILE: string = ".lease-domain";

export function stemOf(id: string): string {
  const readable = id
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .slice(0, 32);
  return `${readable}.${createHash("sha256").update(id, "utf8").digest("hex").slice(0, 32)}`;
}

export function isStem(name: string): boolean {
  return STEM.test(name);
}

export function generationName(generation: number): string {
  return `${generation}.jsonl`;
}

/** The generations among a directory's entries, lowest first. Names of any other kind are not ours to judge. */
export function generationsIn(entries: readonly string[]): number[] {
  return entries
    .map((name) => GENERATION.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}
