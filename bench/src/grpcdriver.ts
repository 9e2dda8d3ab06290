/**
 * grpcdriver against its floor: a bare unary echo of grpc-js with messages of the same size, over a connection of the same
 * kind, in the same run. Client and server are processes of their own, as they would be.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ChannelCredentials, Client } from "@grpc/grpc-js";
import { grpcdriver } from "@leasehold/grpcdriver";
import type { FullSessionLease, Lease } from "@leasehold/session-lease";
import { ECHO, type Ports } from "./grpc-server.js";
import { type Bench, type Line, median, quantile } from "./line.js";

const ROUNDS = 9;
const CALLS = 2_000;
const WARM_UP = 1_000;
const AT_ONCE = 64;
/** Bytes of a renewal's request and reply on the wire, as the bench has them. */
const REQUEST = 43;
const REPLY = 57;
const CYCLES = 10_000;

type Sample = Readonly<{ perSecond: number; p99: number }>;

/** `calls` calls, so many in flight. */
async function measure(call: (lane: number) => Promise<unknown>, calls: number, lanes: number): Promise<Sample> {
  const took: number[] = [];
  let left = calls;
  const begun = performance.now();
  const lane = async (place: number): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const sent = performance.now();
      await call(place);
      took.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, place) => lane(place)));
  return { perSecond: (calls * 1000) / (performance.now() - begun), p99: quantile(took, 0.99) };
}

function bareEcho(port: number): { call: () => Promise<unknown>; close: () => void } {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure());
  const request = Buffer.alloc(REQUEST, 7);
  const identity = (bytes: Buffer): Buffer => bytes;
  return {
    call: () =>
      new Promise((resolve, reject) => {
        const deadline = Date.now() + 5_000;
        client.makeUnaryRequest(
          ECHO,
          identity,
          identity,
          request,
          { deadline } as never,
          (error: unknown, reply: unknown) => (error ? reject(error as Error) : resolve(reply)),
        );
      }),
    close: () => client.close(),
  };
}

async function compare(lease: FullSessionLease, echo: () => Promise<unknown>, lanes: number): Promise<Line[]> {
  const held: Lease[] = [];
  for (let place = 0; place < lanes; place += 1)
    held.push(await lease.acquire(`session-${lanes}-${place}`, "owner-0123456789"));
  const renew = async (place: number): Promise<void> => {
    held[place] = await lease.renew(held[place] as Lease);
  };
  await measure(echo, WARM_UP, lanes);
  await measure(renew, WARM_UP, lanes);
  const rates: number[] = [];
  const shares: number[] = [];
  const tails: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const bare = await measure(echo, CALLS, lanes);
    const full = await measure(renew, CALLS, lanes);
    rates.push(full.perSecond);
    shares.push((100 * full.perSecond) / bare.perSecond);
    tails.push(full.p99 / bare.p99);
  }
  const what = lanes === 1 ? "renew, one after the other" : `renew, ${lanes} in flight`;
  return [
    { bench: "grpcdriver", what, measured: median(rates), unit: "/s" },
    {
      bench: "grpcdriver",
      what: `${what}, share of a bare echo`,
      measured: median(shares),
      unit: "%",
      bound: { kind: "at least", limit: 85 },
    },
    {
      bench: "grpcdriver",
      what: `${what}, p99 against the echo's`,
      measured: median(tails),
      unit: "x",
      bound: { kind: "at most", limit: 1.5 },
    },
  ];
}

/** Ten thousand cycles over one client: what the heap has grown by, in MiB, after the same number to warm up. */
async function growth(lease: FullSessionLease): Promise<Line> {
  const cycles = async (count: number): Promise<number> => {
    for (let cycle = 0; cycle < count; cycle += 1) {
      await lease.release(await lease.renew(await lease.acquire(`s${cycle % 100}`, `owner-${cycle}`)));
    }
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  const before = await cycles(CYCLES / 5);
  const after = await cycles(CYCLES);
  return {
    bench: "grpcdriver",
    what: `heap grown over ${CYCLES} cycles of one client`,
    measured: Math.max(0, (after - before) / 1_048_576),
    unit: "MiB",
    bound: { kind: "at most", limit: 2 },
  };
}

async function serverProcess(): Promise<{ child: ChildProcess; ports: Ports }> {
  const child = fork(fileURLToPath(new URL("./grpc-server.js", import.meta.url)), [String(REPLY)]);
  const [ports] = (await once(child, "message")) as [Ports];
  return { child, ports };
}

export const grpcdriverBench: Bench = {
  name: "grpcdriver",
  async run(): Promise<readonly Line[]> {
    const { child, ports } = await serverProcess();
    const lease = await grpcdriver({ target: `127.0.0.1:${ports.lease}`, ttl: 600_000, timeout: 5_000 });
    const echo = bareEcho(ports.echo);
    try {
      const lines = [...(await compare(lease, echo.call, 1)), ...(await compare(lease, echo.call, AT_ONCE))];
      return [...lines, await growth(lease)];
    } finally {
      echo.close();
      await lease.close();
      child.disconnect();
    }
  },
};
