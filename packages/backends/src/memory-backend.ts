import type { Backend } from "./backend.js";
import { BackendUsageError } from "./usage-error.js";

/** The memory of this process: for trying things out and for tests, since nobody else can see it. */
export const memoryBackend: Backend = {
  scheme: "mem",
  example: "mem:",
  open: async (place, options) => {
    if (place !== "") throw new BackendUsageError("mem: takes nothing after the colon; write mem: alone");
    const { memlease } = await import("@leasehold/memlease");
    return memlease(options);
  },
};
