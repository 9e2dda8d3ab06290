/** The app is built and served as its users would do it. */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { flocklease } from "@leasehold/flocklease";
import { SessionRuns } from "@leasehold/session-runs";
import { JsonlSessionStore } from "@leasehold/session-store";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ExampleProcess, post, scratch, until } from "../../test/example-process.js";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const next = createRequire(import.meta.url).resolve("next/dist/bin/next");
const env = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" as const };
const LONG = "word ".repeat(3_000);

beforeAll(async () => {
  await rm(`${cwd}/.next`, { recursive: true, force: true });
  await promisify(execFile)(process.execPath, [next, "build"], { cwd, env: { ...process.env, ...env } });
}, 600_000);

describe("a Next.js route", { timeout: 60_000 }, () => {
  it("streams a turn, shares its runs with the other routes, and ends in order", async () => {
    const DATA = await scratch();
    const options = { cwd, env: { ...env, DATA } };
    const server = await ExampleProcess.start([next, "start", "--port", "0", "--hostname", "127.0.0.1"], options);
    const lease = flocklease({ dir: `${DATA}/leases` });
    const store = new JsonlSessionStore({ directory: `${DATA}/sessions` });
    onTestFinished(async () => {
      await Promise.all([lease.close(), store.close()]);
    });
    const turn = (id: string, body: unknown) => post(`${server.url}/sessions/${id}/turns`, body);
    const last = (id: string) =>
      until(`${id} to end`, async () => {
        const { events } = await store.read(id, { limit: 1_000 });
        const event = events.at(-1);
        return event !== undefined && event.type !== "said" && event;
      });

    const answer = await turn("streamed", { prompt: "hello there" });
    expect(answer.status).toBe(200);
    expect(
      (await answer.text())
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { type: "said", data: "After 0 events:" },
      { type: "said", data: "hello" },
      { type: "said", data: "there" },
      { type: "finished" },
    ]);

    // Held by this process.
    const elsewhere = await new SessionRuns({ lease }).start("elsewhere");
    const refused = await turn("elsewhere", { prompt: "me too" });
    expect(refused.status).toBe(409);
    expect(refused.headers.get("retry-after")).toMatch(/^[1-5]$/);
    expect(await refused.json()).toMatchObject({ code: "session_leased_elsewhere" });
    await elsewhere.finish();

    // "here": the other bundle finds the run of this one.
    await turn("stopped", { prompt: LONG });
    const stopped = await post(`${server.url}/sessions/stopped/stop`);
    expect(await stopped.json()).toEqual({ outcome: "here" });
    expect(await last("stopped")).toMatchObject({ type: "stopped", data: "run_cancelled" });

    const left = await turn("left", { prompt: LONG });
    await left.body?.cancel();
    expect(await last("left")).toMatchObject({ type: "stopped", data: "run_cancelled" });

    await turn("ending", { prompt: "a word or two ".repeat(10) });
    server.signal("SIGTERM");
    expect(await last("ending")).toMatchObject({ type: "finished" });
    expect(await server.exited).toEqual([143, null]);
  });
});
