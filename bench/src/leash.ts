import type { Bench, Line } from "./line.js";
import { runScript } from "./script.js";

type Report = {
  startMs: { more: { p50: number } };
  watcher: { renewed: { peakMiB: number } };
};

export const leashBench: Bench = {
  name: "leash",
  async run(): Promise<readonly Line[]> {
    const { startMs, watcher } = await runScript<Report>("packages/leash/bench/leash.mjs");
    return [
      {
        bench: "leash",
        what: "start of a command, more than without the leash, p50",
        measured: startMs.more.p50,
        unit: "ms",
        bound: { kind: "at most", limit: 30 },
      },
      {
        bench: "leash",
        what: "the watcher's peak memory with 1,000 groups",
        measured: watcher.renewed.peakMiB,
        unit: "MiB",
        bound: { kind: "at most", limit: 60 },
      },
    ];
  },
};
