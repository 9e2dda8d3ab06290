/** The script on the double alone: it runs to its end, and is the same each time. */

import { FakeClock } from "@leasehold/conformance";
import { expect, test } from "vitest";
import { KubeServer } from "../src/index.js";
import { type Played, playScript } from "../src/script.js";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

function play(): Promise<readonly Played[]> {
  const server = new KubeServer({ clock: new FakeClock() });
  const verbs = ["get", "list", "create", "update", "delete", "patch"];
  server.access.addUser("admin", "admin").grant("admin", "default", verbs).grant("admin", "nowhere", verbs);
  return playScript(
    (call) => server.handle({ ...call, headers: { authorization: "Bearer admin", ...call.headers } }),
    LEASES,
  );
}

test("every step is answered, and twice the same", async () => {
  const played = await play();
  expect(new Set(played.map(({ step }) => step)).size).toBe(played.length);
  expect(played).toEqual(await play());
});

test("every kind of refusal is among the answers", async () => {
  const statuses = (await play()).map(({ answer }) => (answer as { status: number }).status);
  expect([...new Set(statuses)].sort()).toEqual([200, 201, 400, 401, 404, 409, 415, 422, 500]);
});
