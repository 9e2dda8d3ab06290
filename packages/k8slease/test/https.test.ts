/** Through `@kubernetes/client-node` over real sockets, with a CA of our own. B18, B23, B26, B50. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { KubeConfig } from "@kubernetes/client-node";
import { type Handler, HttpsListener, KubeServer, makeCertificate } from "@leasehold/kube-double";
import { type FullSessionLease, hostClock, leaseErrorCode } from "@leasehold/session-lease";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { type K8sLeaseOptions, k8slease } from "../src/index.js";

/** Ms. */
const SHORT = 300;

const certificate = await makeCertificate();
const dir = mkdtempSync(join(tmpdir(), "k8slease-"));
let server: KubeServer;
let listener: HttpsListener;
let handler: Handler;
let leases: FullSessionLease[];

beforeEach(async () => {
  server = new KubeServer({ clock: hostClock });
  server.access.addUser("secret-token", "agent").grant("agent", "agents", VERBS);
  server = new KubeServer({ clock: hostClock, access: server.access, namespaces: ["agents"] });
  handler = (call) => server.handle(call);
  listener = await HttpsListener.listen((call, socket) => handler(call, socket), { certificate });
  leases = [];
});
afterEach(async () => {
  for (const lease of leases) await lease.close();
  await listener.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const VERBS = ["get", "create", "update", "delete", "list"];

function kubeconfig({
  user = { token: "secret-token" },
  ca = listener.ca,
  proxy,
}: {
  user?: object;
  ca?: string;
  proxy?: string;
} = {}): string {
  const path = join(dir, `kubeconfig-${Math.random()}`);
  const cluster = {
    server: listener.url,
    "certificate-authority-data": Buffer.from(ca).toString("base64"),
    ...(proxy && { "proxy-url": proxy }),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "agents" } }],
    "current-context": "x",
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function open(options: K8sLeaseOptions = {}): FullSessionLease {
  const lease = k8slease({ ...(options.kubeConfig === undefined && { kubeconfig: kubeconfig() }), ...options });
  leases.push(lease);
  return lease;
}

const code = (work: Promise<unknown>): Promise<unknown> => work.then(() => "granted", leaseErrorCode);

test("B26: a whole life over TLS with a private CA, in the namespace of the context, with the token of its user", async () => {
  const lease = open();
  const held = await lease.acquire("s", "a", { metadata: { node: "n1" } });
  expect((await lease.renew(held)).token).toBe(held.token);
  expect(await code(open().acquire("s", "b"))).toBe("held");
  expect((await lease.list()).leases).toHaveLength(1);
  expect(await lease.release(held)).toBe("released");
  expect((await open().acquire("s", "b")).token).toBeGreaterThan(held.token);
});

test("two hundred renewals use one connection", async () => {
  const lease = open();
  let held = await lease.acquire("s", "a");
  for (let renewal = 0; renewal < 200; renewal += 1) held = await lease.renew(held);
  expect(listener.connections).toBe(1);
});

test("B26: a CA that does not match: unavailable, said so, and nothing was sent", async () => {
  const other = await makeCertificate();
  const lease = open({ kubeconfig: kubeconfig({ ca: other.ca }) });
  const error = await lease.acquire("s", "a").catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: "unavailable",
    retryable: false,
    message: expect.stringContaining("certificate"),
  });
  expect(server.counts).toEqual({});
});

test("B26: the proxy of the configuration is used, and its connection kept", async () => {
  let tunnels = 0;
  const proxy: Server = createServer();
  proxy.on("connect", (_request, client, head) => {
    tunnels += 1;
    const upstream = connect(listener.port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const lease = open({ kubeconfig: kubeconfig({ proxy: url }) });
  let held = await lease.acquire("s", "a");
  for (let renewal = 0; renewal < 10; renewal += 1) held = await lease.renew(held);
  expect(tunnels).toBe(1);
  // What breaks after it was sent may have been done, through a proxy as well.
  handler = (_call, socket) => {
    socket.destroy();
    return undefined;
  };
  expect(await code(lease.renew(held))).toBe("unknown-outcome");
  await lease.close();
  await new Promise((resolve) => proxy.close(resolve));
});

test("a token file is rotated and the old token revoked: the next call works", async () => {
  const tokenFile = join(dir, "token");
  writeFileSync(tokenFile, "secret-token");
  const user = { "auth-provider": { name: "tokenFile", config: { tokenFile } } };
  const lease = open({ kubeconfig: kubeconfig({ user }) });
  const held = await lease.acquire("s", "a");
  writeFileSync(tokenFile, "next-token\n");
  server.access.addUser("next-token", "agent").revoke("secret-token");
  expect((await lease.renew(held)).token).toBe(held.token);
});

test("a token that nobody accepts: denied, after one more look at the configuration", async () => {
  const lease = open({ kubeconfig: kubeconfig({ user: { token: "wrong" } }) });
  const error = await lease.acquire("s", "a").catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "denied", retryable: false });
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("wrong");
});

test("the service account of a pod: host and port from the environment, token, CA and namespace from files", async () => {
  const root = join(dir, "pod");
  const secrets = join(root, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(secrets, { recursive: true });
  writeFileSync(join(secrets, "token"), "secret-token");
  writeFileSync(join(secrets, "ca.crt"), listener.ca);
  writeFileSync(join(secrets, "namespace"), "agents");
  const kubeConfig = new KubeConfig();
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "127.0.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", String(listener.port));
  kubeConfig.loadFromCluster(root);
  vi.unstubAllEnvs();
  const lease = open({ kubeConfig });
  const held = await lease.acquire("s", "a");
  writeFileSync(join(secrets, "token"), "next-token");
  server.access.addUser("next-token", "agent").revoke("secret-token");
  expect((await lease.renew(held)).token).toBe(held.token);
});

test("no such file, no such context: unavailable, said so, and looked for again", async () => {
  const path = join(dir, "to come");
  const lease = open({ kubeconfig: path });
  const error = await lease.acquire("s", "a").catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "unavailable", retryable: false, message: expect.stringContaining(path) });
  expect(await code(open({ kubeconfig: kubeconfig(), context: "other" }).acquire("s", "a"))).toBe("unavailable");
  copyFileSync(kubeconfig(), path);
  expect(await code(lease.acquire("s", "a"))).toBe("granted");
});

test("B23: a socket that never answers is destroyed at the deadline, and the next try uses another", async () => {
  const lease = open({ requestTimeout: SHORT });
  const held = await lease.acquire("s", "a");
  let closed: Promise<unknown> = Promise.resolve();
  handler = (_call, socket) => {
    handler = (call) => server.handle(call);
    closed = once(socket, "close");
    return undefined;
  };
  expect((await lease.renew(held)).token).toBe(held.token);
  await closed;
  expect(listener.connections).toBe(2);
});

test("B23: an answer that trickles is cut at the deadline", async () => {
  const lease = open({ requestTimeout: SHORT });
  const held = await lease.acquire("s", "a");
  handler = (_call, socket) => {
    handler = (call) => server.handle(call);
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n");
    const drip = setInterval(() => socket.write("{"), 20);
    socket.once("close", () => clearInterval(drip));
    return undefined;
  };
  expect((await lease.renew(held)).token).toBe(held.token);
  expect(listener.connections).toBe(2);
});

test("an answer that breaks off: the same call finds out what was done", async () => {
  const lease = open();
  const held = await lease.acquire("s", "a");
  handler = (call, socket) => {
    handler = (next) => server.handle(next);
    server.handle(call);
    socket.end("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{");
    return undefined;
  };
  expect((await lease.renew(held)).token).toBe(held.token);
});

test("the server restarts on its port: unavailable meanwhile, and the same lease goes on", async () => {
  const lease = open({ requestTimeout: SHORT });
  const held = await lease.acquire("s", "a");
  const { port } = listener;
  await listener.close();
  expect(["unavailable", "unknown-outcome"]).toContain(await code(lease.renew(held)));
  listener = await HttpsListener.listen((call, socket) => handler(call, socket), { certificate, port });
  expect((await lease.renew(held)).token).toBe(held.token);
});

test("fifty calls at once, over no more connections than are kept", async () => {
  const lease = open();
  await Promise.all(Array.from({ length: 200 }, (_, n) => lease.acquire(`s${n}`, "a")));
  expect(listener.connections).toBeLessThanOrEqual(64);
});

test("B18, B50: a program that forgets to close ends by itself, and closing ends every connection", async () => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL("fixtures/forgets.mjs", import.meta.url)), kubeconfig()],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const [[exitCode]] = await Promise.all([once(child, "exit"), once(child.stdout, "data")]);
  expect(exitCode).toBe(0);
  expect([...server.store.in("agents")].filter(({ spec }) => spec.holderIdentity === "child")).toHaveLength(1);
});
