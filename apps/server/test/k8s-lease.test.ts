/** Servers that keep their leases in Lease objects. The API server is a double behind HTTPS. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HttpsListener, KubeServer, makeCertificate } from "@leasehold/kube-double";
import { hostClock } from "@leasehold/session-lease";
import { describe, expect, it, onTestFinished } from "vitest";
import { call, create, prompt, sessionUrl } from "./client.js";
import { ServerProcess, scratch } from "./server-process.js";

const VERBS = ["get", "create", "update", "delete", "list"];

/** The flags of a server on a cluster of its own, in which it may do so much. */
async function cluster(verbs: readonly string[] = VERBS): Promise<string[]> {
  const server = new KubeServer({ clock: hostClock, namespaces: ["agents"] });
  server.access.addUser("token", "agent").grant("agent", "agents", verbs);
  const listener = await HttpsListener.listen((request) => server.handle(request), {
    certificate: await makeCertificate(),
  });
  onTestFinished(() => listener.close());
  const kubeconfig = join(await scratch(), "kubeconfig");
  const ca = Buffer.from(listener.ca).toString("base64");
  const config = {
    clusters: [{ name: "double", cluster: { server: listener.url, "certificate-authority-data": ca } }],
    users: [{ name: "agent", user: { token: "token" } }],
    contexts: [{ name: "double", context: { cluster: "double", user: "agent" } }],
    "current-context": "double",
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  return ["--session-lease-k8s-namespace", "agents", "--session-lease-kubeconfig", kubeconfig];
}

describe("servers on one cluster", { timeout: 60_000 }, () => {
  it("drive a session one at a time, and hand it over when one of them ends", async () => {
    const flags = [...(await cluster()), "--store-dir", join(await scratch(), "store")];
    const [one, two] = await Promise.all([ServerProcess.start(flags), ServerProcess.start(flags)]);
    const id = await create(one);
    const running = await prompt(one, id, "wait 2s");
    const started = await running.next("started");
    const refused = await call("POST", sessionUrl(two, id, "/prompt"), { prompt: "hello" });
    expect(refused).toMatchObject({ status: 409, body: { code: "session_leased_elsewhere" } });

    const waiting = prompt(two, id, "hello", { body: { on_busy: "wait", wait_ms: 30_000 } });
    one.terminate();
    const taken = await (await waiting).next("started");
    expect(BigInt(taken.data.token)).toBeGreaterThan(BigInt(started.data.token));
    two.terminate();
    expect((await one.exited).code).toBe(0);
    expect((await two.exited).code).toBe(0);
  });
});

describe("a server", { timeout: 60_000 }, () => {
  it("that lacks a right does not start, and names it", async () => {
    const flags = [...(await cluster(["get", "update"])), "--store-dir", await scratch()];
    const { code, stderr } = await new ServerProcess(flags).exited;
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/\\?"create\\?" on leases\.coordination\.k8s\.io in namespace \\?"agents\\?"/);
  });

  it("that has no cluster where it was told does not start", async () => {
    const flags = ["--session-lease-k8s-namespace", "agents", "--session-lease-kubeconfig", "/nowhere"];
    const { code, stderr } = await new ServerProcess([...flags, "--store-dir", await scratch()]).exited;
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/configuration makes no sense.*\/nowhere/);
  });
});
