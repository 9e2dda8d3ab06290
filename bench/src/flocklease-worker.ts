/** One of several processes that renew their own sessions, or take the floor's steps, for a given time. */

import { join } from "node:path";
import { flocklease } from "@leasehold/flocklease";
import type { Lease } from "@leasehold/session-lease";
import { LockFloor } from "./lock-floor.js";

export type WorkerTask = Readonly<{ dir: string; worker: number; sessions: number }>;
export type WorkerRound = Readonly<{ mode: "lease" | "floor"; ms: number }>;

const task: WorkerTask = JSON.parse(process.argv[2] ?? "");
const lease = flocklease({ dir: join(task.dir, "leases"), ttl: 600_000 });
const ids = Array.from({ length: task.sessions }, (_, at) => `session-${task.worker}-${at}`);
const held: Lease[] = await Promise.all(ids.map((id) => lease.acquire(id, `worker-${task.worker}`)));
const floors = ids.map((id) => new LockFloor(join(task.dir, "floor", id), "x".repeat(300)));
await Promise.all(floors.map((floor) => floor.open()));

async function repeat(step: (at: number) => Promise<unknown>, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let done = 0;
  await Promise.all(
    ids.map(async (_, at) => {
      while (performance.now() < end) {
        await step(at);
        done += 1;
      }
    }),
  );
  return done;
}

process.on("message", async ({ mode, ms }: WorkerRound) => {
  const renew = async (at: number): Promise<void> => {
    const mine = held[at];
    if (mine !== undefined) held[at] = await lease.renew(mine);
  };
  const done = await repeat(mode === "lease" ? renew : async (at) => floors[at]?.step(), ms);
  process.send?.(done);
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
