import { inProcesses } from "../reference/elsewhere.js";
import type { Mutant } from "./mutant.js";

/** Stores that are a compare-and-set for as long as one process asks. */
export const PROCESS_MUTANTS: readonly Mutant[] = [
  {
    name: "read, compare, write",
    sentence: "A swap is atomic because its process does nothing else meanwhile; another process does.",
    build: { opened: () => inProcesses("compared") },
    fails: ["L13-one-grant-among-processes", "L13-stopped-between-file-calls"],
  },
];
