/** What each operation costs, in requests. B25. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { Cluster, HOUR, type Process, TTL } from "./cluster.js";

let cluster: Cluster;
let a: Process;
let b: Process;

beforeEach(async () => {
  cluster = new Cluster();
  const server = cluster.server();
  [a, b] = [cluster.process(server), cluster.process(server)];
});
afterEach(() => cluster.close());

/** Methods of the requests that `work` sends, without the one by which a process learns the time. */
async function sent({ link }: Process, work: () => Promise<unknown>): Promise<string[]> {
  const from = link.calls.length;
  await cluster.until(work().catch(() => undefined));
  return link.calls
    .slice(from)
    .filter(({ path }) => !path.includes("dryRun"))
    .map(({ method }) => method);
}

test("one request to acquire what has no object, to renew, and to release", async () => {
  expect(await sent(a, () => a.lease.acquire("s", "a"))).toEqual(["POST"]);
  expect(await sent(a, () => a.lease.renew({ sessionId: "s", owner: "a" }))).toEqual(["PUT"]);
  expect(await sent(a, () => a.lease.renew({ sessionId: "s", owner: "a" }))).toEqual(["PUT"]);
  expect(await sent(a, () => a.lease.release({ sessionId: "s", owner: "a" }))).toEqual(["PUT"]);
});

test("two for an acquire that is refused, and one when it is tried again", async () => {
  await a.lease.acquire("s", "a");
  expect(await sent(b, () => b.lease.acquire("s", "b"))).toEqual(["POST", "GET"]);
  expect(await sent(b, () => b.lease.acquire("s", "b"))).toEqual(["GET"]);
});

test("three to take over what another process released", async () => {
  const lease = await a.lease.acquire("s", "a");
  await a.lease.release(lease);
  expect(await sent(b, () => b.lease.acquire("s", "b"))).toEqual(["POST", "GET", "PUT"]);
});

test("three to take over what has expired", async () => {
  await a.lease.acquire("s", "a");
  await cluster.clock.advance(TTL + 5000);
  expect(await sent(b, () => b.lease.acquire("s", "b"))).toEqual(["POST", "GET", "PUT"]);
});

test("one to acquire again what this process has released itself", async () => {
  const lease = await a.lease.acquire("s", "a");
  await a.lease.release(lease);
  expect(await sent(a, () => a.lease.acquire("s", "a2"))).toEqual(["PUT"]);
});

test("the time is asked for once in a process, whatever it does first", async () => {
  await a.lease.acquire("s", "a");
  for (let round = 0; round < 20; round += 1) {
    await cluster.clock.advance(10_000);
    await a.lease.renew({ sessionId: "s", owner: "a" });
  }
  expect(a.link.calls.filter(({ path }) => path.includes("dryRun"))).toHaveLength(1);
  expect(a.link.calls.filter(({ method }) => method !== "GET")).toHaveLength(22);
  await b.lease.inspect("s");
  await b.lease.inspect("s");
  expect(b.link.calls.filter(({ path }) => path.includes("dryRun"))).toHaveLength(1);
  expect(b.link.calls).toHaveLength(3);
});

test("what is known of the time is renewed: after minutes without a word before an acquire, after a step by a look before a renewal", async () => {
  await a.lease.acquire("s", "a", { ttl: 600_000 });
  await cluster.clock.advance(150_000);
  await a.lease.acquire("t", "a");
  expect(a.link.calls.filter(({ path }) => path.includes("dryRun"))).toHaveLength(2);
  a.clock.ahead += HOUR;
  const old = a.link.calls.length;
  await a.lease.renew({ sessionId: "s", owner: "a" });
  expect(a.link.calls.slice(old).map(({ method }) => method)).toEqual(["GET", "PUT"]);
});

test("asking for the time makes no object", async () => {
  await a.lease.inspect("s");
  expect(cluster.store.in("default")).toEqual([]);
});

test("a renewal is asked for ten times by as many callers at once, and each is answered", async () => {
  const lease = await a.lease.acquire("s", "a");
  const renewed = await cluster.until(Promise.all(Array.from({ length: 10 }, () => a.lease.renew(lease))));
  expect(renewed.every(({ token }) => token === lease.token)).toBe(true);
});

test("B25: nothing but GET, POST, PUT and DELETE; every PUT with version and uid, every DELETE with both as preconditions", async () => {
  const lease = await a.lease.acquire("s", "a", { ttl: 1000 });
  await b.lease.requestRelease("s");
  await cluster.until(a.lease.renew(lease));
  await a.lease.transfer(lease, "a2");
  await b.lease.forceRelease("s");
  await b.lease.list();
  await cluster.clock.advance(120_000);
  const calls = [...a.link.calls, ...b.link.calls];
  expect(new Set(calls.map(({ method }) => method))).toEqual(new Set(["GET", "POST", "PUT", "DELETE"]));
  for (const { method, body } of calls) {
    const sent = body === undefined ? {} : JSON.parse(body);
    const named = { PUT: sent.metadata, DELETE: sent.preconditions }[method];
    if (method === "PUT" || method === "DELETE") {
      expect(named.resourceVersion).toMatch(/^\d+$/);
      expect(named.uid).toMatch(/^[0-9a-f-]{36}$/);
    }
  }
});
