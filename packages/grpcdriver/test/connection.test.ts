/** Real sockets on loopback, real time: connections that are refused, silent, lost or many. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { MemoryLeaseStore, memlease } from "@leasehold/memlease";
import { type FullSessionLease, forwardLease, leaseErrorCode, type SessionLease } from "@leasehold/session-lease";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { grpcdriver, LeaseServer } from "../src/index.js";
import { BaseServer } from "./base-server.js";
import { TcpProxy } from "./tcp-proxy.js";

/** Ms for each call, where a test waits for it to run out. */
const SHORT = 300;
/** Ms within which a call of `SHORT` ms has ended, on a machine with other things to do. */
const SOON = 5_000;

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);

async function served(lease: SessionLease = memlease(), port = 0): Promise<{ server: LeaseServer; port: number }> {
  const server = new LeaseServer({ lease });
  onTestFinished(() => server.close(0));
  return { server, port: await server.listen(`127.0.0.1:${port}`) };
}

async function proxied(port: number): Promise<TcpProxy> {
  const proxy = await TcpProxy.before(port);
  onTestFinished(() => proxy.close());
  return proxy;
}

async function client(port: number, timeout = SOON): Promise<FullSessionLease> {
  const lease = await grpcdriver({ target: `127.0.0.1:${port}`, timeout });
  onTestFinished(() => lease.close());
  return lease;
}

async function unusedPort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Ms that a call takes to fail, and with what. */
async function failing(call: () => Promise<unknown>): Promise<{ code: string | undefined; ms: number }> {
  const begun = performance.now();
  const code = await codeOf(call());
  return { code, ms: performance.now() - begun };
}

describe("B42 every call ends", () => {
  test("where nobody listens", async () => {
    const target = `127.0.0.1:${await unusedPort()}`;
    const { code, ms } = await failing(() => grpcdriver({ target, timeout: SOON }));
    expect(code).toBe("unavailable");
    expect(ms).toBeLessThan(SOON);
  });

  test("where the name is nobody's", async () => {
    const connecting = () => grpcdriver({ target: "leases.invalid:7777", tls: {}, timeout: SHORT });
    const { code, ms } = await failing(connecting);
    expect(code).toBe("unavailable");
    expect(ms).toBeLessThan(SOON);
  });

  test("where somebody listens, and says nothing", async () => {
    const { port } = await served();
    const proxy = await proxied(port);
    proxy.silence();
    const { code, ms } = await failing(() => grpcdriver({ target: `127.0.0.1:${proxy.port}`, timeout: SHORT }));
    expect(code).toBe("unavailable");
    expect(ms).toBeLessThan(SOON);
  });

  test("where the server answers no more: an unknown outcome once it was sent", async () => {
    const { port } = await served();
    const proxy = await proxied(port);
    const lease = await client(proxy.port, SHORT);
    const grant = await lease.acquire("s", "a");
    proxy.silence();
    for (const call of [() => lease.renew(grant), () => lease.release(grant), () => lease.acquire("t", "a")]) {
      const { code, ms } = await failing(call);
      expect(["unknown-outcome", "unavailable"]).toContain(code);
      expect(ms).toBeLessThan(SOON);
    }
  });

  test("by the caller's own signal, whatever the deadline", async () => {
    const { port } = await served();
    const proxy = await proxied(port);
    const lease = await client(proxy.port, 60_000);
    const grant = await lease.acquire("s", "a");
    proxy.silence();
    const { code, ms } = await failing(() => lease.renew(grant, { signal: AbortSignal.timeout(SHORT) }));
    expect(code).toBe("aborted");
    expect(ms).toBeLessThan(SOON);
  });
});

test("B23 B59 a connection that has gone silent is replaced, and the lease outlives it", async () => {
  const { port } = await served();
  const proxy = await proxied(port);
  const lease = await client(proxy.port, 1_500);
  const grant = await lease.acquire("s", "a", { ttl: 60_000 });
  expect(proxy.accepted).toBe(1);
  proxy.freeze();
  expect(await codeOf(lease.renew(grant))).toBe("unknown-outcome");
  expect((await lease.renew(grant)).token).toBe(grant.token);
  expect(proxy.accepted).toBe(2);
});

describe("a server that restarts on its port", () => {
  test("finds its clients and their leases again", async () => {
    const store = new MemoryLeaseStore();
    const first = await served(memlease({ store }));
    const lease = await client(first.port);
    const grant = await lease.acquire("s", "a");
    await first.server.close(0);
    expect(await codeOf(lease.acquire("t", "a"))).toBe("unavailable");
    await served(memlease({ store }), first.port);
    expect((await lease.renew(grant)).token).toBe(grant.token);
  });

  test("B43 a renewal waits for it, and is applied once", async () => {
    const store = new MemoryLeaseStore();
    const first = await served(memlease({ store }));
    const lease = await client(first.port);
    const grant = await lease.acquire("s", "a");
    await first.server.close(0);
    const renewal = lease.renew(grant);
    await failing(() => lease.acquire("t", "a"));
    let renewals = 0;
    const inner = memlease({ store });
    const counting = forwardLease(inner, {
      renew: (...args) => {
        renewals += 1;
        return inner.renew(...args);
      },
    });
    await served(counting, first.port);
    expect((await renewal).token).toBe(grant.token);
    expect(renewals).toBe(1);
  });

  test("ends the waits of its clients as unavailable, and they may wait again", async () => {
    const store = new MemoryLeaseStore();
    const first = await served(memlease({ store }));
    const lease = await client(first.port);
    const grant = await lease.acquire("s", "a");
    let waiting: Promise<string | undefined> = Promise.resolve(undefined);
    let isOver = true;
    // A server that has been there for a shorter time than this took cannot know what happened before, and ends the wait.
    while (isOver) {
      isOver = false;
      waiting = codeOf(lease.waitForChange("t")).finally(() => {
        isOver = true;
      });
      await lease.inspect("t");
    }
    await first.server.close(0);
    expect(await waiting).toBe("unavailable");
    await served(memlease({ store }), first.port);
    await lease.renew(grant);
    const again = lease.waitForChange("s");
    await lease.release(grant);
    await again;
  });
});

test("B43 what fails is not sent again: one acquire, one request", async () => {
  let requests = 0;
  const inner = memlease();
  const failingOnce = forwardLease(inner, {
    acquire: async (...args) => {
      requests += 1;
      await inner.acquire(...args);
      // A base driver that has granted, and then says UNAVAILABLE.
      throw Object.assign(new Error("no"), { code: "unavailable" });
    },
  });
  const server = new BaseServer(failingOnce);
  onTestFinished(() => server.close());
  const target = `127.0.0.1:${await server.listen("127.0.0.1:0")}`;
  expect(await codeOf(grpcdriver({ target }))).toBe("unknown-outcome");
  // The probe, and the one that looks for what it may have been granted.
  expect(requests).toBe(2);
});

describe("B50", () => {
  test("hundreds of cycles take one connection", { timeout: 60_000 }, async () => {
    const { port } = await served();
    const proxy = await proxied(port);
    const lease = await client(proxy.port);
    for (let cycle = 0; cycle < 300; cycle += 1) {
      await lease.release(await lease.renew(await lease.acquire(`s${cycle % 10}`, `owner ${cycle}`)));
    }
    expect(proxy.accepted).toBe(1);
  });

  test("clients that were closed leave nothing", { timeout: 60_000 }, async () => {
    const { port } = await served();
    const proxy = await proxied(port);
    for (let round = 0; round < 20; round += 1) {
      const lease = await grpcdriver({ target: `127.0.0.1:${proxy.port}` });
      lease.watchRequests?.(() => undefined);
      lease.waitForChange("s").catch(() => undefined);
      await lease.release(await lease.acquire("s", `owner ${round}`));
      await lease.close();
    }
    expect(proxy.accepted).toBeLessThanOrEqual(40);
    await vi.waitFor(() => expect(proxy.connected).toBe(0), SOON);
  });

  test("B18 a program that forgets to close ends by itself", { timeout: 60_000 }, async () => {
    const { port } = await served();
    const fixture = fileURLToPath(new URL("./fixtures/forgets-to-close.mjs", import.meta.url));
    const run = promisify(execFile)(process.execPath, [fixture, `127.0.0.1:${port}`], { timeout: 30_000 });
    expect((await run).stdout).toBe("done");
  });
});
