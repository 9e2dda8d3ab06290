import type { Bench, Line } from "./line.js";
import { runScript } from "./script.js";

const RUNS = 10_000;
/** Longer than a ttl, so that every lease is renewed several times. */
const SECONDS = 45;

type Report = {
  memoryMb: { rss: number };
  idleDelayMs: { p99: number };
  heldDelayMs: { p99: number };
  renewed: number;
  lateRenewals: number;
  lost: number;
};

export const sessionRunsBench: Bench = {
  name: "session-runs",
  async run(): Promise<readonly Line[]> {
    const report = await runScript<Report>("packages/session-runs/bench/scale.mjs", String(RUNS), String(SECONDS));
    const what = (figure: string): string => `${RUNS} runs held at ttl 30 s: ${figure}`;
    return [
      { bench: "session-runs", what: what("renewals seen"), measured: report.renewed, unit: "" },
      {
        bench: "session-runs",
        what: what("memory above the idle process"),
        measured: report.memoryMb.rss,
        unit: "MB",
        bound: { kind: "at most", limit: 150 },
      },
      {
        bench: "session-runs",
        what: what("p99 event-loop delay above idle"),
        measured: report.heldDelayMs.p99 - report.idleDelayMs.p99,
        unit: "ms",
        bound: { kind: "at most", limit: 20 },
      },
      {
        bench: "session-runs",
        what: what("late renewals and losses"),
        measured: report.lateRenewals + report.lost,
        unit: "",
        bound: { kind: "at most", limit: 0 },
      },
    ];
  },
};
