import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Opened } from "../../src/index.js";

/**
 * What processes of their own open: a store in files that they share, named after the module in `elsewhere/` that is it. The
 * reference itself, being in memory, is out of their reach; the checks that ask about processes ask nobody else.
 */
export function inProcesses(store: "linked" | "compared"): Pick<Opened, "elsewhere" | "close"> {
  const root = join(tmpdir(), `conformance-elsewhere-${randomUUID()}`);
  return {
    elsewhere: { module: new URL(`elsewhere/${store}.mjs`, import.meta.url), argument: root, files: true },
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}
