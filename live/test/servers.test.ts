/** Two agent servers whose leases are on a real API server, by the rights that `deploy/` grants. */

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, create, prompt, sessionUrl } from "../../apps/server/test/client.js";
import { ServerProcess, scratch } from "../../apps/server/test/server-process.js";
import { applyBase, without } from "./manifests.js";
import { runningServer } from "./running-server.js";

/** Ms. */
const TTL = 3000;
const TAKEOVER = TTL + 3000 + 2000;
const ANSWERS = 2000;

const server = runningServer();

async function flagsIn(namespace: string, ...change: Parameters<typeof applyBase>[2][]): Promise<string[]> {
  await server.createNamespace(namespace);
  await applyBase(server, namespace, ...change);
  const kubeconfig = server.kubeconfig(namespace, await server.tokenOf(namespace, "leasehold"), namespace);
  return ["--session-lease-k8s-namespace", namespace, "--session-lease-kubeconfig", kubeconfig];
}

describe("two servers", () => {
  test("one run; 409 at the other; the one is killed, the other takes over in time, with a higher token", async () => {
    const store = ["--store-dir", join(await scratch(), "store"), "--session-lease-ttl", `${TTL}ms`];
    const flags = [...(await flagsIn("servers")), ...store];
    const [one, two] = await Promise.all([ServerProcess.start(flags), ServerProcess.start(flags)]);
    const id = await create(one);
    const running = await prompt(one, id, "wait 60s");
    const { data } = await running.next("started");
    const refused = await call("POST", sessionUrl(two, id, "/prompt"), { prompt: "hello" });
    expect(refused).toMatchObject({ status: 409, body: { code: "session_leased_elsewhere" } });

    const killed = performance.now();
    one.kill();
    const waiting = await prompt(two, id, "hello", { body: { on_busy: "wait", wait_ms: 30_000 } });
    const started = await waiting.next("started");
    expect(performance.now() - killed).toBeLessThanOrEqual(TAKEOVER + ANSWERS);
    expect(BigInt(started.data.token)).toBeGreaterThan(BigInt(data.token));
  }, 60_000);

  test("one ends gracefully: the other has the session at once", async () => {
    const drain = ["--drain-timeout", "1s"];
    const flags = [...(await flagsIn("graceful")), ...drain, "--store-dir", join(await scratch(), "store")];
    const [one, two] = await Promise.all([ServerProcess.start(flags), ServerProcess.start(flags)]);
    const id = await create(one);
    const running = await prompt(one, id, "wait 60s");
    await running.next("started");
    const waiting = prompt(two, id, "hello", { body: { on_busy: "wait", wait_ms: 60_000 } });
    one.terminate();
    await one.exited;
    const from = performance.now();
    await (await waiting).next("started");
    expect(performance.now() - from).toBeLessThanOrEqual(ANSWERS + 1500);
  }, 60_000);
});

test.each(["get", "create", "update"])(
  "a server without the right to %s does not start, and names it",
  async (verb) => {
    const flags = [...(await flagsIn(`server-no-${verb}`, without(verb))), "--store-dir", await scratch()];
    const { code, stderr } = await new ServerProcess(flags).exited;
    expect(code, stderr).toBe(1);
    expect(stderr).toContain(verb);
    expect(stderr).toContain("leases.coordination.k8s.io");
  },
);
