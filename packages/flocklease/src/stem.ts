/** Names on the disk: one directory for each session, called its stem, and numbered records in it. */

import { hash as digest } from "node:crypto";

const LONGEST_SLUG = 40;
/** 128 bits of SHA-256: two ids of one directory that share a stem are not to be expected, and would be noticed. */
const HASH_DIGITS = 32;

/**
 * The directory name of a session: something that an operator can read, and a hash that tells ids apart which differ
 * only in case, Unicode form or past the readable part. Never begins with a dot, so that no id collides with our own names.
 */
export function stemOf(sessionId: string): string {
  const slug = sessionId
    .slice(0, LONGEST_SLUG)
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const hash = digest("sha256", sessionId, "hex").slice(0, HASH_DIGITS);
  return `${slug === "" ? "session" : slug}-${hash}`;
}

/** Whether a name in the root directory can be that of a stem. */
export function isStem(name: string): boolean {
  return /^[A-Za-z0-9_-]+-[0-9a-f]{32}$/.test(name);
}

/** The number of a record file; undefined for any other name. */
export function numberOf(name: string): number | undefined {
  return /^[1-9][0-9]{0,14}$/.test(name) ? Number(name) : undefined;
}

/** Where a record is. Not `path.join`, which costs a renewal more than its decision: a stem is a normal path already. */
export function recordPath(stem: string, number: number): string {
  return `${stem}/${number}`;
}

/** The numbers among the names, lowest first. */
export function numbersIn(names: readonly string[]): number[] {
  const numbers: number[] = [];
  for (const name of names) {
    const number = numberOf(name);
    if (number !== undefined) numbers.push(number);
  }
  return numbers.sort((a, b) => a - b);
}
