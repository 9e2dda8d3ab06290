// A store that reads, compares and writes, one call after the other, all in one turn of its event loop. In one process nothing
// comes between; between processes everything can.
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { casLease, decodeRecord, encodeRecord } from "@leasehold/session-lease";

/** Ms that its disk takes for a write: what makes the gap one that any two processes meet in. */
const SLOW = 1;

export function open(root, clock) {
  mkdirSync(root, { recursive: true });
  const fileOf = (sessionId) => join(root, createHash("sha256").update(sessionId).digest("hex"));
  const read = (sessionId) => {
    try {
      const text = readFileSync(fileOf(sessionId), "utf8");
      const at = text.indexOf("\n");
      // Being written.
      if (at < 0) return undefined;
      return { record: decodeRecord(text.slice(at + 1)).record, version: text.slice(0, at) };
    } catch (error) {
      if (error.code === "ENOENT") return undefined;
      throw error;
    }
  };
  return casLease({
    name: "compared files",
    clock,
    load: read,
    swap: (sessionId, version, next) => {
      if (read(sessionId)?.version !== version) return false;
      const written = clock.monotonic() + SLOW;
      while (clock.monotonic() < written);
      writeFileSync(fileOf(sessionId), `${randomUUID()}\n${encodeRecord(sessionId, next)}`);
      return true;
    },
  });
}
