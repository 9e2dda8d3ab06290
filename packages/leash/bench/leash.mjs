// What the leash costs: the start of a command on it against the same command without it, in one run and in turns, and
// the watcher's memory with many groups. Prints JSON and fails beyond the limits that it
// prints. `node bench/leash.mjs [GROUPS=1000] [STARTS=100]`, after a build.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostClock } from "@leasehold/session-lease";
import { isDead, readProcessStat } from "@leasehold/session-lease/host";
import { Leash, NO_END } from "../dist/index.js";

const groups = Number(process.argv[2] ?? 1_000);
const starts = Number(process.argv[3] ?? 100);

const now = () => hostClock.monotonic();
const quantile = (values, q) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
const round = (ms) => Math.round(ms * 10) / 10;

function memory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (field) => round(Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024);
  return { rssMiB: megabytes("VmRSS"), peakMiB: megabytes("VmHWM") };
}

const inAMinute = () => ({ wall: hostClock.wall() + 60_000, monotonic: now() + 60_000 });

const leash = new Leash();
const coldStart = now();
await leash.ready();
const ready = now() - coldStart;

const plain = [];
const leashed = [];
for (let i = 0; i < starts; i++) {
  let begin = now();
  await new Promise((resolve) => spawn("true", { detached: true, stdio: "ignore" }).once("exit", resolve));
  plain.push(now() - begin);
  begin = now();
  const child = await leash.spawn("true", [], { validUntil: inAMinute(), stdio: "ignore" });
  await child.exited;
  leashed.push(now() - begin);
  await child.ended;
}
const empty = memory(leash.watcherPid);

const children = [];
for (let i = 0; i < groups; i++) {
  children.push(await leash.spawn("sleep", ["600"], { validUntil: NO_END, stdio: "ignore" }));
}
const full = memory(leash.watcherPid);
for (let renewal = 0; renewal < 20; renewal++) {
  for (const child of children) child.extend(inAMinute());
  await new Promise((resolve) => hostClock.schedule(resolve, 100));
  await leash.ready();
}
const renewed = memory(leash.watcherPid);

const pids = children.map(({ group }) => group.id);
const begin = now();
const closing = leash.close({ graceMs: 0 });
const alive = (pid) => {
  const stat = readProcessStat(pid);
  return typeof stat !== "string" && !isDead(stat);
};
await closing;
const closed = now() - begin;
if (pids.some(alive)) throw new Error("a group has survived");

const report = {
  startMs: {
    plain: { p50: round(quantile(plain, 0.5)), p95: round(quantile(plain, 0.95)) },
    leashed: { p50: round(quantile(leashed, 0.5)), p95: round(quantile(leashed, 0.95)) },
    more: { p50: round(quantile(leashed, 0.5) - quantile(plain, 0.5)), limit: 30 },
    watcher: round(ready),
  },
  watcher: { groups, empty, full, renewed, limitMiB: 60 },
  closeMs: round(closed),
};
const { more } = report.startMs;
const { peakMiB } = renewed;
if (more.p50 > more.limit || peakMiB > report.watcher.limitMiB) process.exitCode = 1;
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
