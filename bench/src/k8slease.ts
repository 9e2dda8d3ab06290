/** On a real API server: what a renewal costs, against the bare request underneath and against what people would use instead. */

import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { CoordinationV1Api, KubeConfig, V1MicroTime } from "@kubernetes/client-node";
import { k8slease, objectName } from "@leasehold/k8slease";
import { RealApiServer } from "@leasehold/kube-double";
import { hostClock, type Lease, pause } from "@leasehold/session-lease";
import { type Bench, type Line, median } from "./line.js";

const NAMESPACE = "default";
const ROUNDS = 5;
/** Requests of a round that is measured. */
const BATCH = 200;
const STOCK_BATCH = 60;
const IN_FLIGHT = 50;
/** Sessions that are held at once, for how long, and their ttl; ms. */
const SESSIONS = 1000;
const HELD_FOR = 30_000;
const TTL = 30_000;

type Write = () => Promise<unknown>;

/** Operations a second, `together` of them at any time. */
async function rate(writers: readonly Write[], total: number): Promise<number> {
  const start = performance.now();
  let left = total;
  await Promise.all(
    writers.map(async (write) => {
      while (left > 0) {
        left -= 1;
        await write();
      }
    }),
  );
  return (total * 1000) / (performance.now() - start);
}

/** PUTs on one kept connection (or as many as are in flight) that change what a renewal changes, and nothing around them. */
function bareWriter(url: URL, agent: Agent, name: string): Write {
  let object: { metadata: { resourceVersion: string }; spec: { renewTime: string } } | undefined;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
  const send = (method: string, target: string, body?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: "Bearer admin-token",
        accept: "application/json",
        "content-type": "application/json",
        ...(body && { "content-length": Buffer.byteLength(body) }),
      };
      const options = { host: url.hostname, port: url.port, path: target, method, agent, headers };
      const sent = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve(Buffer.concat(chunks).toString()));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  return async () => {
    object ??= JSON.parse(await send("GET", `${path}/${name}`));
    if (object === undefined) throw new Error(`there is no lease ${name}`);
    const spec = { ...object.spec, renewTime: new Date().toISOString().replace("Z", "000Z") };
    object = JSON.parse(await send("PUT", `${path}/${name}`, JSON.stringify({ ...object, spec })));
  };
}

/** What the client's documentation leads to: read, change, replace. */
function stockWriter(config: KubeConfig, name: string): Write {
  const api = config.makeApiClient(CoordinationV1Api);
  return async () => {
    const body = await api.readNamespacedLease({ name, namespace: NAMESPACE });
    if (body.spec === undefined) throw new Error(`lease ${name} has no spec`);
    body.spec.renewTime = new V1MicroTime();
    await api.replaceNamespacedLease({ name, namespace: NAMESPACE, body });
  };
}

async function renewals(server: RealApiServer, kubeconfig: string, inFlight: number): Promise<Line[]> {
  const lease = k8slease({ kubeconfig, ttl: 600_000 });
  const ca = readFileSync(`${server.dir}/certs/apiserver.crt`);
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight, ca });
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const url = new URL(`https://127.0.0.1:${server.port}`);
  const names = Array.from({ length: inFlight }, (_, n) => `bench ${inFlight} ${n}`);
  const nameOf = (kind: string, n: number): string => objectName("default", `${names[n]} ${kind}`);
  const acquire = (kind: string): Promise<Lease[]> =>
    Promise.all(names.map((name) => lease.acquire(`${name} ${kind}`, "a")));
  const held = await acquire("full");
  await acquire("bare");
  await acquire("stock");
  const full = held.map(
    (each): Write =>
      () =>
        lease.renew(each),
  );
  const bare = names.map((_, n) => bareWriter(url, agent, nameOf("bare", n)));
  const stock = names.map((_, n) => stockWriter(config, nameOf("stock", n)));
  const rates: number[] = [];
  const shares: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const floor = await rate(bare, BATCH);
    const ours = await rate(full, BATCH);
    const instead = await rate(stock, STOCK_BATCH);
    rates.push(ours);
    shares.push((100 * ours) / floor);
    times.push(ours / instead);
  }
  await lease.close();
  agent.destroy();
  const how = inFlight === 1 ? "one after the other" : `${inFlight} in flight`;
  return [
    { bench: "k8slease", what: `renew, ${how}`, measured: median(rates), unit: "/s" },
    {
      bench: "k8slease",
      what: `renew, ${how}, of bare kept-alive PUTs`,
      measured: median(shares),
      unit: "%",
      bound: { kind: "at least", limit: 85 },
    },
    {
      bench: "k8slease",
      what: `renew, ${how}, against the stock client's read and replace`,
      measured: median(times),
      unit: "x",
      bound: { kind: "at least", limit: 5 },
    },
  ];
}

async function requestsPerOperation(kubeconfig: string): Promise<Line[]> {
  let requests = 0;
  const counting = { kubeconfig, ttl: 600_000, onRequest: () => count() };
  const count = (): void => {
    requests += 1;
  };
  const [one, other] = [k8slease(counting), k8slease(counting)];
  await one.inspect("counted");
  await other.inspect("counted");
  const lines: Line[] = [];
  const cost = async <T>(what: string, limit: number, work: () => Promise<T>): Promise<T | undefined> => {
    requests = 0;
    const result = await work().catch(() => undefined);
    lines.push({
      bench: "k8slease",
      what: `requests to ${what}`,
      measured: requests,
      unit: "",
      bound: { kind: "at most", limit },
    });
    return result;
  };
  const held = await cost("acquire what has no object", 1, () => one.acquire("counted", "a"));
  if (held === undefined) throw new Error("nothing was acquired");
  await cost("renew", 1, () => one.renew(held));
  await cost("be refused", 2, () => other.acquire("counted", "b"));
  await cost("release", 1, () => one.release(held));
  await cost("take over what another released", 3, () => other.acquire("counted", "b"));
  await one.close();
  await other.close();
  return lines;
}

async function manySessions(kubeconfig: string): Promise<Line[]> {
  const lease = k8slease({ kubeconfig, ttl: TTL, domain: "many" });
  const held: Lease[] = [];
  for (let n = 0; n < SESSIONS; n += IN_FLIGHT) {
    const some = Array.from({ length: IN_FLIGHT }, (_, k) => lease.acquire(`s${n + k}`, "a"));
    held.push(...(await Promise.all(some)));
  }
  const until = performance.now() + HELD_FOR;
  let late = 0;
  let longest = 0;
  await Promise.all(
    held.map(async (each, n) => {
      await pause(hostClock, (n / SESSIONS) * (TTL / 3), { keepAlive: true });
      for (let due = performance.now(); due < until; due += TTL / 3) {
        await pause(hostClock, Math.max(0, due - performance.now()), { keepAlive: true });
        const sent = performance.now();
        await lease.renew(each);
        const took = performance.now() - sent;
        longest = Math.max(longest, took);
        // The one before was a third of the ttl earlier: this is when its holder would have had to stop.
        if (performance.now() - due > (2 * TTL) / 3) late += 1;
      }
    }),
  );
  await lease.close();
  return [
    {
      bench: "k8slease",
      what: `${SESSIONS} sessions at a ttl of 30 s: late renewals`,
      measured: late,
      unit: "",
      bound: { kind: "at most", limit: 0 },
    },
    {
      bench: "k8slease",
      what: `${SESSIONS} sessions at a ttl of 30 s: the longest renewal`,
      measured: longest,
      unit: "ms",
    },
  ];
}

async function deadHolder(kubeconfig: string): Promise<Line[]> {
  const ttl = 3000;
  const gone = k8slease({ kubeconfig, ttl });
  await gone.acquire("dead", "a");
  const granted = performance.now();
  await gone.close();
  const next = k8slease({ kubeconfig, ttl });
  for (let n = 0; ; n += 1) {
    const taken = await next.acquire("dead", `b${n}`).then(
      () => true,
      () => false,
    );
    if (taken) break;
    await pause(hostClock, 50, { keepAlive: true });
  }
  await next.close();
  const limit = ttl + 3000 + 2000;
  return [
    {
      bench: "k8slease",
      what: "a fresh process takes over from a dead holder of a ttl of 3 s",
      measured: performance.now() - granted,
      unit: "ms",
      bound: { kind: "at most", limit },
    },
  ];
}

export const k8sleaseBench: Bench = {
  name: "k8slease",
  run: async () => {
    const server = await RealApiServer.start();
    try {
      const kubeconfig = server.kubeconfig("admin", "admin-token", NAMESPACE);
      return [
        ...(await requestsPerOperation(kubeconfig)),
        ...(await renewals(server, kubeconfig, 1)),
        ...(await renewals(server, kubeconfig, IN_FLIGHT)),
        ...(await manySessions(kubeconfig)),
        ...(await deadHolder(kubeconfig)),
      ];
    } finally {
      await server.stop();
    }
  },
};
