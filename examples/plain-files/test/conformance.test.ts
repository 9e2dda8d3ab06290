import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@leasehold/conformance";
import { conformanceTests } from "@leasehold/conformance/vitest";
import { fileLease, fileStore } from "../src/file-lease.js";
import { oracleOf } from "./oracle.js";

conformanceTests({
  name: "plain files",
  forgetAfter: 60_000,
  open: () => {
    const root = mkdtempSync(join(tmpdir(), "plain-files-"));
    const clock = new FakeClock();
    const open = () => fileLease({ root, clock, forgetAfter: 60_000 });
    return {
      lease: open(),
      advance: (ms) => clock.advance(ms),
      now: () => clock.wall(),
      reopen: open, // another process, as far as the store can tell
      elsewhere: { module: new URL("elsewhere.mjs", import.meta.url), argument: root, files: true }, // real ones
      store: fileStore(root), // examined too: versions, and stale loads
      timers: () => clock.pending,
      oracle: oracleOf(root), // looks at the files, behind the lease's back
      close: () => rmSync(root, { recursive: true }),
    };
  },
});
