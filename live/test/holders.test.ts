/** Holders on a real API server: killed, robbed of their objects, on nodes whose clocks are wrong, and many at once. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type K8sLeaseOptions, k8slease, objectName } from "@leasehold/k8slease";
import { type Clock, type FullSessionLease, hostClock, leaseErrorCode, lossReason } from "@leasehold/session-lease";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { applyBase } from "./manifests.js";
import { runningServer } from "./running-server.js";

const NAMESPACE = "holders";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const HOUR = 3_600_000;
/** Ms. */
const TTL = 3000;
const SERVER_SKEW = 2000;
/** What a fresh process waits at most, besides what the answers take. */
const TAKEOVER = TTL + 3000 + SERVER_SKEW;
const ANSWERS = 500;

const server = runningServer();
let kubeconfig: string;
const leases: FullSessionLease[] = [];
beforeAll(async () => {
  await server.createNamespace(NAMESPACE);
  await applyBase(server, NAMESPACE);
  kubeconfig = server.kubeconfig(NAMESPACE, await server.tokenOf(NAMESPACE, "leasehold"), NAMESPACE);
});
afterEach(async () => {
  for (const lease of leases.splice(0)) await lease.close();
});

function open(options: K8sLeaseOptions = {}): FullSessionLease {
  const lease = k8slease({ kubeconfig, ttl: TTL, serverSkew: SERVER_SKEW, ...options });
  leases.push(lease);
  return lease;
}

/** The host's, with a wall clock that is wrong. */
const wrong = (ahead: () => number): Clock => ({ ...hostClock, wall: () => hostClock.wall() + ahead() });
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const codeOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => "granted", leaseErrorCode);

/** Tries until it is granted; ms since `from`. */
async function takeover(lease: FullSessionLease, sessionId: string, from: number): Promise<number> {
  for (let n = 0; (await codeOf(lease.acquire(sessionId, `rival-${n}`))) !== "granted"; n += 1) await sleep(100);
  return performance.now() - from;
}

test("a holder that is killed: a fresh process takes over in time, not before the ttl is over, with a higher token", async () => {
  const from = performance.now();
  const fixture = fileURLToPath(new URL("fixtures/holder.mjs", import.meta.url));
  const child = spawn(process.execPath, [fixture, kubeconfig, "killed", String(TTL)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(child.stdout, "data");
  const granted = performance.now();
  child.kill("SIGKILL");
  await once(child, "exit");
  const lease = open();
  const waited = await takeover(lease, "killed", granted);
  expect(performance.now() - from).toBeGreaterThanOrEqual(TTL);
  expect(waited).toBeLessThanOrEqual(TAKEOVER + ANSWERS);
  expect((await lease.inspect("killed"))?.token).toBeGreaterThan(BigInt(String(said)));
});

describe.each([
  ["an hour ahead", HOUR],
  ["an hour behind", -HOUR],
])("a node whose clock is %s", (name, ahead) => {
  test("does not steal, is not robbed, and takes over in time", async () => {
    const [theirs, ours] = [`theirs ${name}`, `ours ${name}`];
    const astray = open({ clock: wrong(() => ahead) });
    const sane = open();
    let kept = await sane.acquire(theirs, "a");
    let own = await astray.acquire(ours, "a");
    for (let round = 0; round < 6; round += 1) {
      await sleep(TTL / 3);
      expect(await codeOf(astray.acquire(theirs, "rival"))).toBe("held");
      expect(await codeOf(sane.acquire(ours, "rival"))).toBe("held");
      kept = await sane.renew(kept);
      own = await astray.renew(own);
    }
    const from = performance.now();
    const [first, second] = await Promise.all([takeover(astray, theirs, from), takeover(sane, ours, from)]);
    for (const waited of [first, second]) {
      expect(waited).toBeGreaterThanOrEqual(TTL - ANSWERS);
      expect(waited).toBeLessThanOrEqual(TAKEOVER + ANSWERS);
    }
  });
});

test("a clock that is stepped back and forth under a holder: nothing is lost, and the object keeps the server's time", async () => {
  let ahead = 0;
  const lease = open({ clock: wrong(() => ahead) });
  let held = await lease.acquire("stepped", "a");
  for (const step of [HOUR, -HOUR, 0]) {
    ahead = step;
    held = await lease.renew(held);
    expect(Math.abs(held.expiry - held.ttl - Date.now())).toBeLessThanOrEqual(2000);
    expect(await codeOf(open().acquire("stepped", "rival"))).toBe("held");
  }
});

test("the object is deleted under its holder: deleted, nothing comes back, and the next token is higher", async () => {
  const lease = open();
  const held = await lease.acquire("deleted", "a");
  const path = `${LEASES}/${objectName("default", "deleted")}`;
  await server.apply("DELETE", path);
  expect(await lease.renew(held).catch(lossReason)).toBe("deleted");
  expect((await server.exchange({ method: "GET", path })).status).toBe(404);
  await sleep(1100);
  expect((await open().acquire("deleted", "b")).token).toBeGreaterThan(held.token);
  expect(await lease.renew(held).catch(lossReason)).toBe("taken");
});

test("a hundred rounds of eight that want one session: one is granted in each", async () => {
  const rivals = Array.from({ length: 8 }, () => open());
  for (let round = 0; round < 100; round += 1) {
    const attempts = await Promise.allSettled(rivals.map((lease, n) => lease.acquire(`round ${round}`, `rival-${n}`)));
    const codes = attempts.map((attempt) =>
      attempt.status === "fulfilled" ? "granted" : leaseErrorCode(attempt.reason),
    );
    expect(codes.sort()).toEqual(["granted", ...Array.from({ length: 7 }, () => "held")]);
  }
});

test("2,000 sessions acquired and released leave nothing once forgetAfter has passed, and tokens go on growing", async () => {
  const lease = open({ domain: "many", forgetAfter: 2000 });
  const tokens = new Map<string, bigint>();
  for (let n = 0; n < 2000; n += 50) {
    const some = Array.from({ length: 50 }, (_, k) => `s${n + k}`);
    const held = await Promise.all(some.map((id) => lease.acquire(id, "a")));
    for (const { sessionId, token } of held) tokens.set(sessionId, token);
    await Promise.all(held.map((each) => lease.release(each)));
  }
  const selector = encodeURIComponent("leasehold/domain=many");
  const left = async (): Promise<number> => {
    const { items } = await server.apply("GET", `${LEASES}?labelSelector=${selector}`);
    return (items as unknown[]).length;
  };
  await expect.poll(left, { timeout: 90_000, interval: 1000 }).toBe(0);
  for (const id of ["s0", "s1", "s1000", "s1999"]) {
    expect((await lease.acquire(id, "b")).token).toBeGreaterThan(tokens.get(id) ?? 0n);
  }
}, 180_000);

test("a hundred sessions for three ttls: every renewal is in time, one request each", async () => {
  let requests = 0;
  const lease = open({
    domain: "steady",
    onRequest: ({ verb }) => {
      if (verb === "update") requests += 1;
    },
  });
  let held = await Promise.all(Array.from({ length: 100 }, (_, n) => lease.acquire(`s${n}`, "a")));
  for (let round = 0; round < 9; round += 1) {
    await sleep(TTL / 3);
    held = await Promise.all(held.map((each) => lease.renew(each)));
  }
  expect(requests).toBe(900);
});
