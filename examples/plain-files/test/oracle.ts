import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Oracle } from "@leasehold/conformance";

export function oracleOf(root: string): Oracle {
  const directory = (sessionId: string): string => join(root, createHash("sha256").update(sessionId).digest("hex"));
  const newest = (sessionId: string): string | undefined => {
    const names = existsSync(directory(sessionId)) ? readdirSync(directory(sessionId)) : [];
    const [last] = names.sort((a, b) => Number(b) - Number(a));
    return last && join(directory(sessionId), last);
  };
  return {
    read: (sessionId) => {
      const path = newest(sessionId);
      return path && readFileSync(path, "utf8");
    },
    remove: (sessionId) => rmSync(directory(sessionId), { recursive: true }),
    corrupt: (sessionId) => {
      const path = newest(sessionId);
      if (path !== undefined) writeFileSync(path, "{");
    },
    backup: () => {
      const copy = mkdtempSync(join(tmpdir(), "plain-files-copy-"));
      cpSync(root, copy, { recursive: true });
      return () => {
        rmSync(root, { recursive: true });
        cpSync(copy, root, { recursive: true });
        rmSync(copy, { recursive: true });
      };
    },
  };
}
