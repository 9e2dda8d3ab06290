import { openLease } from "@leasehold/backends";
import { FakeClock } from "@leasehold/conformance";
import { forwardLease, LeaseUnsupportedError } from "@leasehold/session-lease";
import { SessionRuns } from "@leasehold/session-runs";
import { MemorySessionStore } from "@leasehold/session-store";
import { pino } from "pino";
import { expect, it } from "vitest";
import { createApp } from "../src/http/create-app.js";
import { sessionRoutes } from "../src/routes/sessions.js";

it("contract server 2: deletes nothing when the very first acquire finds out that there can be no leases", async () => {
  const clock = new FakeClock();
  const log = pino({ level: "silent" });
  const store = new MemorySessionStore({ clock });
  await store.create("s", 1n);
  const { lease: memory } = await openLease("mem:", { clock });
  if (memory === undefined) throw new Error("there is a lease in memory");
  const lease = forwardLease(memory, {
    acquire: async () => {
      throw new LeaseUnsupportedError("no hard links here", { retryable: false });
    },
  });
  const runs = new SessionRuns({ lease, clock, onUnsupported: "disable", above: (id) => store.highest(id) });
  const app = createApp([(app) => sessionRoutes(app, { runs, lease, store, clock, log })], {
    guard: { allowedHosts: [], allowedOrigins: [] },
    log,
  });
  const remove = async () => {
    const { statusCode, body } = await app.inject({
      method: "DELETE",
      url: "/v1/sessions/s",
      headers: { host: "127.0.0.1" },
    });
    return [statusCode, JSON.parse(body).code];
  };
  expect(runs.exclusive).toBe(true);
  expect(await remove()).toEqual([503, "maintenance_exclusion_unavailable"]);
  expect(runs.exclusive).toBe(false);
  expect(await remove()).toEqual([503, "maintenance_exclusion_unavailable"]);
  expect(await store.summary("s")).toMatchObject({ id: "s" });
  await app.close();
});
