import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { flocklease } from "@leasehold/flocklease";
import type { WorkerRound, WorkerTask } from "./flocklease-worker.js";
import type { Bench, Line } from "./line.js";
import { median } from "./line.js";
import { LockFloor } from "./lock-floor.js";

const BATCH = 150;
const ROUNDS = 9;
const WORKERS = 8;
const SESSIONS = 800;
const CROWD_ROUNDS = 5;
const CROWD_MS = 2000;

async function millisecondsPerStep(step: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let done = 0; done < BATCH; done += 1) await step();
  return (performance.now() - start) / BATCH;
}

async function alone(dir: string): Promise<Line[]> {
  const lease = flocklease({ dir: join(dir, "alone"), ttl: 600_000 });
  let mine = await lease.acquire("session", "owner");
  const floor = new LockFloor(join(dir, "floor"), "x".repeat(300));
  await floor.open();
  const cost: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const bare = await millisecondsPerStep(() => floor.step());
    const full = await millisecondsPerStep(async () => {
      mine = await lease.renew(mine);
    });
    cost.push(full);
    ratios.push(full / bare);
  }
  await lease.close();
  return [
    { bench: "flocklease", what: "renew", measured: median(cost), unit: "ms" },
    {
      bench: "flocklease",
      what: "renew, against lock + write + link + unlink + unlock",
      measured: median(ratios),
      unit: "x",
      bound: { kind: "at most", limit: 1.5 },
    },
  ];
}

async function crowd(dir: string): Promise<Line[]> {
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      const task: WorkerTask = { dir, worker, sessions: SESSIONS / WORKERS };
      const child = fork(fileURLToPath(new URL("./flocklease-worker.js", import.meta.url)), [JSON.stringify(task)]);
      await once(child, "message");
      return child;
    }),
  );
  const round = async (mode: WorkerRound["mode"]): Promise<number> => {
    const counts = await Promise.all(workers.map((worker) => ask(worker, { mode, ms: CROWD_MS })));
    return (counts.reduce((sum, count) => sum + count, 0) * 1000) / CROWD_MS;
  };
  const perSecond: number[] = [];
  const shares: number[] = [];
  for (let at = 0; at < CROWD_ROUNDS; at += 1) {
    const floor = await round("floor");
    const full = await round("lease");
    perSecond.push(full);
    shares.push((100 * full) / floor);
  }
  for (const worker of workers) worker.disconnect();
  const what = `${WORKERS} processes on ${SESSIONS} sessions: renewals`;
  return [
    { bench: "flocklease", what, measured: median(perSecond), unit: "/s" },
    {
      bench: "flocklease",
      what: `${what}, share of the floor run the same way`,
      measured: median(shares),
      unit: "%",
      bound: { kind: "at least", limit: 70 },
    },
  ];
}

async function ask(worker: ChildProcess, round: WorkerRound): Promise<number> {
  const answer = once(worker, "message");
  worker.send(round);
  const [count] = await answer;
  return count as number;
}

export const flockleaseBench: Bench = {
  name: "flocklease",
  async run(): Promise<readonly Line[]> {
    const dir = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
    try {
      return [...(await alone(dir)), ...(await crowd(dir))];
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
};
