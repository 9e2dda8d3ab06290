/** Lines out of a file, a chunk at a time: memory is bounded by one chunk and one line, whatever the file's size. */

import type { OpenFile } from "./files.js";
import { MAX_LINE_BYTES } from "./record.js";

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export interface Line {
  /** Without the newline; `undefined` when it is longer than any record may be. */
  readonly bytes: Uint8Array | undefined;
  /** Where the next line begins. */
  readonly end: number;
}

/** The lines that one chunk completed. */
export interface LineBatch {
  readonly lines: readonly Line[];
  /** Where the first line begins that has no newline yet. */
  readonly next: number;
  /** How far the file has been read. Beyond `next`: a line that is being written, or torn. */
  readonly readTo: number;
}

/**
 * Complete lines from `start`, which must be the beginning of one, to the end of the file. Empty lines are left out:
 * writers put a newline in front of a line that must stand alone.
 */
export async function* readLines(file: OpenFile, start: number): AsyncGenerator<LineBatch, void, undefined> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let position = start;
  let next = start;
  for (;;) {
    const chunk = await file.read(position, CHUNK_BYTES);
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const piece = chunk.subarray(from, at);
      const length = pendingBytes + piece.length;
      if (length > MAX_LINE_BYTES) lines.push({ bytes: undefined, end: position + at + 1 });
      else if (length > 0) {
        lines.push({
          bytes: pending.length === 0 ? piece : Buffer.concat([...pending, piece]),
          end: position + at + 1,
        });
      }
      pending = [];
      pendingBytes = 0;
      from = at + 1;
      next = position + from;
    }
    const rest = chunk.subarray(from);
    pendingBytes += rest.length;
    if (pendingBytes > MAX_LINE_BYTES) pending = [];
    else if (rest.length > 0) pending.push(rest);
    position += chunk.length;
    yield { lines, next, readTo: position };
    if (chunk.length < CHUNK_BYTES) return;
  }
}
