// A sound store for processes: the records of a session are numbered files, made by link(2), which fails if one is there. None
// is ever removed, so no number comes back.
import { createHash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { casLease, decodeRecord, encodeRecord } from "@leasehold/session-lease";

export function open(root, clock) {
  const directoryOf = (sessionId) => {
    const directory = join(root, createHash("sha256").update(sessionId).digest("hex"));
    mkdirSync(directory, { recursive: true });
    return directory;
  };
  return casLease({
    name: "linked files",
    clock,
    load: (sessionId) => {
      const directory = directoryOf(sessionId);
      const version = Math.max(
        0,
        ...readdirSync(directory)
          .filter((name) => /^\d+$/.test(name))
          .map(Number),
      );
      if (version === 0) return undefined;
      return { record: decodeRecord(readFileSync(join(directory, String(version)), "utf8")).record, version };
    },
    swap: (sessionId, version = 0, next) => {
      if (next === undefined) throw new Error("nothing is forgotten here");
      const directory = directoryOf(sessionId);
      const draft = join(directory, `draft-${randomUUID()}`);
      writeFileSync(draft, encodeRecord(sessionId, next));
      try {
        linkSync(draft, join(directory, String(version + 1)));
        return true;
      } catch (error) {
        if (error.code === "EEXIST") return false;
        throw error;
      }
    },
  });
}
