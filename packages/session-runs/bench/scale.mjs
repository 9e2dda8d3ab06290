// What 10,000 runs held at once cost one process: memory and event-loop delay above the idle process, and late renewals.
// Usage, after a build: node --expose-gc bench/scale.mjs [runs] [seconds]
// Prints one JSON object.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { memlease } from "@leasehold/memlease";
import { SessionRuns } from "@leasehold/session-runs";

const TTL = 30_000;
const count = Number(process.argv[2] ?? 10_000);
const seconds = Number(process.argv[3] ?? 45);

async function delayOver(ms) {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  await sleep(ms);
  histogram.disable();
  const inMs = (ns) => Math.round(ns / 1e4) / 100;
  return { p50: inMs(histogram.percentile(50)), p99: inMs(histogram.percentile(99)), max: inMs(histogram.max) };
}

const memory = () => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
};
const above = (now, before) =>
  Object.fromEntries(Object.keys(now).map((key) => [key, Math.round((now[key] - before[key]) / 1e5) / 10]));

const lags = [];
const runs = new SessionRuns({
  lease: memlease({ ttl: TTL }),
  ttl: TTL,
  observer: { renewed: (lagMs) => lags.push(lagMs) },
});
await runs.run("warm", {}, () => undefined);
const idle = await delayOver(5_000);
const before = memory();

const ends = [];
// As an agent does that works in a process of its own: listens for the stop button, and waits.
const untilTold = ({ signal }) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", resolve, { once: true });
    ends.push(resolve);
  });
const startedAt = performance.now();
const all = [];
// A hundred at a time, as they would come in from sockets.
while (all.length < count) {
  const id = `session-${all.length}`;
  all.push(runs.run(id, {}, untilTold));
  if (all.length % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
}
while (ends.length < count) await sleep(1);
const startMs = performance.now() - startedAt;
const held = await delayOver(seconds * 1_000);
const cpu = process.cpuUsage();
await sleep(5_000);
const { user, system } = process.cpuUsage(cpu);
const memoryMb = above(memory(), before);

const { renewed, lost, inDoubt, longestRenewalLagMs } = runs.stats();
const losses = Object.values(lost).reduce((sum, n) => sum + n, 0);
for (const end of ends) end();
await Promise.all(all);

lags.sort((a, b) => a - b);
const report = {
  runs: count,
  startMs: Math.round(startMs),
  memoryMb,
  idleDelayMs: idle,
  heldDelayMs: held,
  cpuShare: Math.round((user + system) / 5e4) / 100,
  renewed,
  renewalLagMs: { p99: lags[Math.floor(lags.length * 0.99)], max: longestRenewalLagMs },
  // Later than two thirds of the ttl: a third is the interval.
  lateRenewals: lags.filter((lag) => lag > TTL / 3).length,
  lost: losses,
  inDoubt,
};
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
