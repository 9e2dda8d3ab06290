/** The Role of `deploy/` is enough, and a verb that is missing from it is named. */

import { k8slease } from "@leasehold/k8slease";
import type { FullSessionLease } from "@leasehold/session-lease";
import { afterEach, expect, test } from "vitest";
import { applyBase, verbsOfBase, without } from "./manifests.js";
import { runningServer } from "./running-server.js";

const server = runningServer();
const leases: FullSessionLease[] = [];
afterEach(async () => {
  for (const lease of leases.splice(0)) await lease.close();
});

/** A namespace of its own, with the base applied, and a lease by its service account. */
async function leaseIn(namespace: string, ...change: Parameters<typeof applyBase>[2][]): Promise<FullSessionLease> {
  await server.createNamespace(namespace);
  await applyBase(server, namespace, ...change);
  const token = await server.tokenOf(namespace, "leasehold");
  const lease = k8slease({ kubeconfig: server.kubeconfig(namespace, token, namespace), forgetAfter: 1000 });
  leases.push(lease);
  return lease;
}

test("everything that a lease can do, and the sweep, with the base as it is", async () => {
  const lease = await leaseIn("whole");
  const held = await lease.acquire("s", "a", { ttl: 3000, metadata: { node: "n1" } });
  expect((await lease.renew(held)).token).toBe(held.token);
  expect(await lease.requestRelease("s")).toBe(true);
  expect((await lease.inspect("s"))?.metadata).toEqual({ node: "n1" });
  expect((await lease.list()).leases).toHaveLength(1);
  const moved = await lease.transfer(held, "b");
  expect(await lease.forceRelease("s")).toBe(true);
  expect(await lease.domain()).toMatch(/^[0-9a-f-]{36}$/);
  expect((await lease.acquire("s", "c")).token).toBeGreaterThan(moved.token);
  expect(await lease.release({ sessionId: "s", owner: "c" })).toBe("released");
  const path = "/apis/coordination.k8s.io/v1/namespaces/whole/leases";
  const count = async (): Promise<unknown> => {
    const { items } = await server.apply("GET", path);
    return (items as unknown[]).length;
  };
  await expect.poll(count, { timeout: 20_000 }).toBe(1);
});

test("another namespace is out of reach, and said so", async () => {
  await leaseIn("mine");
  await server.createNamespace("theirs");
  const token = await server.tokenOf("mine", "leasehold");
  const astray = k8slease({ kubeconfig: server.kubeconfig("astray", token, "theirs") });
  leases.push(astray);
  await expect(astray.acquire("s", "a")).rejects.toMatchObject({
    code: "denied",
    message: expect.stringContaining('"create" on leases.coordination.k8s.io in namespace "theirs"'),
  });
});

test.each(["get", "create", "update"])("without %s: denied, and the verb is named", async (verb) => {
  const lease = await leaseIn(`no-${verb}`, without(verb));
  const attempt = async (): Promise<unknown> => {
    const held = await lease.acquire("s", "a");
    await lease.renew(held);
    return lease.acquire("s", "b");
  };
  await expect(attempt()).rejects.toMatchObject({ code: "denied", message: expect.stringContaining(`"${verb}"`) });
});

test("without list: leases are held, and only listing is denied", async () => {
  const lease = await leaseIn("no-list", without("list"));
  const held = await lease.acquire("s", "a");
  expect(await lease.release(held)).toBe("released");
  await expect(lease.list()).rejects.toMatchObject({ code: "denied", message: expect.stringContaining('"list"') });
});

test("the base grants nothing that is not tried here", () => {
  expect(verbsOfBase().sort()).toEqual(["create", "delete", "get", "list", "update"]);
});
