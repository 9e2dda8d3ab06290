/** The double is held to the real server: the same script at both, and every answer the same. */

import { KubeServer, playScript } from "@leasehold/kube-double";
import { hostClock } from "@leasehold/session-lease";
import { expect, test } from "vitest";
import { runningServer } from "./running-server.js";

const server = runningServer();

test("what the double answers is what a real API server answers", async () => {
  await server.createNamespace("script");
  const leases = "/apis/coordination.k8s.io/v1/namespaces/script/leases";
  const real = await playScript((call) => server.exchange(call), leases);

  const double = new KubeServer({ clock: hostClock, namespaces: ["script"] });
  const verbs = ["get", "list", "create", "update", "delete", "patch"];
  double.access.addUser("admin-token", "admin").grant("admin", "script", verbs).grant("admin", "nowhere", verbs);
  const headers = { authorization: "Bearer admin-token" };
  const played = await playScript(
    (call) => double.handle({ ...call, headers: { ...headers, ...call.headers } }),
    leases,
  );

  expect(played).toEqual(real);
  expect(real.length).toBeGreaterThan(50);
});
