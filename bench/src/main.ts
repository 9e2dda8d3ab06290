import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { examBench } from "./exam.js";
import { flockleaseBench } from "./flocklease.js";
import { grpcdriverBench } from "./grpcdriver.js";
import { leashBench } from "./leash.js";
import { type Bench, holds, type Line } from "./line.js";
import { memleaseBench } from "./memlease.js";
import { serverBench } from "./server.js";
import { sessionRunsBench } from "./session-runs.js";
import { twoServersBench } from "./two-servers.js";

const BENCHES: readonly Bench[] = [
  memleaseBench,
  flockleaseBench,
  grpcdriverBench,
  leashBench,
  sessionRunsBench,
  serverBench,
  twoServersBench,
  examBench,
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(", ")}; there are ${BENCHES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const lines: Line[] = [];
for (const bench of BENCHES) {
  if (wanted.length > 0 && !wanted.includes(bench.name)) continue;
  console.error(`running ${bench.name}`);
  lines.push(...(await bench.run()));
}

console.table(
  lines.map((line) => ({
    bench: line.bench,
    what: line.what,
    measured: `${Number(line.measured.toPrecision(4))} ${line.unit}`.trim(),
    bound: line.bound === undefined ? "" : `${line.bound.kind} ${line.bound.limit}`,
    holds: line.bound === undefined ? "" : holds(line) ? "yes" : "NO",
  })),
);

const reports = fileURLToPath(new URL("../../reports/", import.meta.url));
mkdirSync(reports, { recursive: true });
writeFileSync(`${reports}bench.json`, `${JSON.stringify(lines, null, 2)}\n`);
process.exitCode = lines.every(holds) ? 0 : 1;
