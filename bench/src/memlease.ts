import { memlease } from "@leasehold/memlease";
import type { Bench, Line } from "./line.js";
import { median } from "./line.js";

const CYCLES = 100_000;
const ROUNDS = 7;
const SESSIONS = 1000;

type Steps<L> = {
  acquire(id: string, owner: string): Promise<L>;
  renew(lease: L): Promise<L>;
  release(lease: L): Promise<unknown>;
};

type BareLease = { id: string; owner: string; token: bigint; expiry: number };

/** The floor: the same three awaited steps on a bare Map, with the comparisons and nothing else. */
function bareMap(): Steps<BareLease> {
  const leases = new Map<string, BareLease>();
  const mine = ({ id, owner, token }: BareLease): BareLease => {
    const found = leases.get(id);
    if (found === undefined || found.owner !== owner || found.token !== token) throw new Error("lost");
    return found;
  };
  return {
    async acquire(id, owner) {
      const now = Date.now();
      const found = leases.get(id);
      if (found !== undefined && found.owner !== owner && now < found.expiry) throw new Error("held");
      const lease = { id, owner, token: (found?.token ?? 0n) + 1n, expiry: now + 30_000 };
      leases.set(id, lease);
      return lease;
    },
    async renew(lease) {
      const renewed = { ...mine(lease), expiry: Date.now() + 30_000 };
      leases.set(lease.id, renewed);
      return renewed;
    },
    async release(lease) {
      return leases.delete(mine(lease).id);
    },
  };
}

async function nanosecondsPerCycle<L>(steps: Steps<L>): Promise<number> {
  const start = performance.now();
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const lease = await steps.acquire(`session-${cycle % SESSIONS}`, "owner");
    await steps.release(await steps.renew(lease));
  }
  return ((performance.now() - start) * 1e6) / CYCLES;
}

export const memleaseBench: Bench = {
  name: "memlease",
  async run(): Promise<readonly Line[]> {
    const lease = memlease();
    const floor = bareMap();
    const ratios: number[] = [];
    const cost: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const bare = await nanosecondsPerCycle(floor);
      const full = await nanosecondsPerCycle(lease);
      cost.push(full);
      ratios.push(full / bare);
    }
    await lease.close();
    return [
      { bench: "memlease", what: "acquire + renew + release", measured: median(cost), unit: "ns" },
      {
        bench: "memlease",
        what: "against the same steps on a bare Map",
        measured: median(ratios),
        unit: "x",
        bound: { kind: "at most", limit: 3 },
      },
    ];
  },
};
