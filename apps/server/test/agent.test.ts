import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAX_LINE_LENGTH } from "../src/agent/output-lines.js";
import { call, create, type Event, eventsOf, prompt, sessionUrl } from "./client.js";
import { until } from "./processes.js";
import { fixture, ServerProcess, scratch } from "./server-process.js";

const TIMEOUT = 60_000;
const cleanups: (() => Promise<void>)[] = [];
let server: ServerProcess;

beforeAll(async () => {
  const later = (clean: () => Promise<void>): void => void cleanups.unshift(clean);
  const flags = [
    "--store-dir",
    await scratch(later),
    "--agent",
    `node ${fixture("agent.mjs")}`,
    "--run-timeout",
    "20s",
  ];
  server = await ServerProcess.start(flags, { atEnd: later });
}, TIMEOUT);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

async function run(script: string): Promise<readonly Event[]> {
  return await (await prompt(server, await create(server), script)).rest();
}

const outputOf = (events: readonly Event[]): unknown[] =>
  events.filter(({ data }) => data.type === "output").map(({ data }) => data.text);
const lastOf = (events: readonly Event[]): Event["data"] | undefined => events.at(-1)?.data;

describe("a command as agent", { timeout: TIMEOUT }, () => {
  it("is told its session, its run and its token, and its lines are events", async () => {
    const id = await create(server, "a/b é");
    const events = await (
      await prompt(server, id, "env LEASEHOLD_SESSION_ID\nenv LEASEHOLD_RUN_ID\nenv LEASEHOLD_FENCING_TOKEN\nsay  x ")
    ).rest();
    const [started] = events;
    expect(outputOf(events)).toEqual([id, started?.data.runId, started?.data.token, " x "]);
    expect(events.map(({ data }) => data.type)).toEqual([
      "started",
      "output",
      "output",
      "output",
      "output",
      "finished",
    ]);
    expect(events.map((event) => event.id)).toEqual(["1", "2", "3", "4", "5", "6"]);
    expect(new Set(events.map(({ data }) => data.runId)).size).toBe(1);
    expect(lastOf(events)).toMatchObject({ exitCode: 0 });
    expect(started?.data.recovered).toBeUndefined();
    expect(await eventsOf(server, id, 2)).toEqual(events.map(({ data }) => data));
    expect(JSON.stringify(events)).not.toContain("bootId");
  });

  it("gets the server's environment, but not the server's settings", async () => {
    const storeDir = await scratch();
    const env = { LEASEHOLD_STORE_DIR: storeDir, LEASEHOLD_AGENT: `node ${fixture("agent.mjs")}`, API_KEY: "k" };
    const told = await ServerProcess.start([], { env });
    const stream = await prompt(told, await create(told), "env API_KEY\nenv LEASEHOLD_STORE_DIR\nenv LEASEHOLD_AGENT");
    expect(outputOf(await stream.rest())).toEqual(["k", "undefined", "undefined"]);
  });

  it.each([
    ["its exit code", "exit 3", { type: "failed", reason: "exit", exitCode: 3 }],
    ["the signal that killed it", "die SIGKILL", { type: "failed", reason: "signal", signal: "SIGKILL" }],
    ["nothing, when it exits at once", "exit 0", { type: "finished", exitCode: 0 }],
  ])("ends its run with %s", async (_, script, end) => {
    expect(lastOf(await run(script))).toMatchObject(end);
  });

  it("keeps its run while anything of its group is left", async () => {
    const begun = performance.now();
    const events = await run("background 1");
    expect(lastOf(events)).toMatchObject({ type: "finished" });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(1_000);
  });

  it("does not keep its run by a process that has left the group with its output", async () => {
    const begun = performance.now();
    expect(lastOf(await run("escape 30"))).toMatchObject({ type: "finished" });
    expect(performance.now() - begun).toBeLessThan(25_000);
  });

  it("may write what is not UTF-8", async () => {
    expect(outputOf(await run("bytes 61ff620a"))).toEqual(["a\ufffdb"]);
  });

  it("may write a line of 64 MiB, in bounded memory, and nothing of it is lost", async () => {
    const memory = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]);
    const before = memory();
    const id = await create(server);
    // A client that reads too slowly is cut off; the log is what must be whole.
    await (await prompt(server, id, `long ${64 << 20}\nsay \nsay end`)).rest();
    await until("the run is over", async () => (await call("GET", sessionUrl(server, id))).body.state === "idle", {
      withinMs: 60_000,
    });
    const events = await eventsOf(server, id);
    let length = 0;
    for (const { type, text } of events) {
      if (type !== "output" || text === "end") continue;
      expect(text?.length).toBeLessThanOrEqual(MAX_LINE_LENGTH);
      length += text?.length ?? 0;
    }
    expect(length).toBe(64 << 20);
    expect(events.at(-1)).toMatchObject({ type: "finished" });
    // VmHWM is in KiB.
    expect(memory() - before).toBeLessThan(150 * 1_024);
  });

  it("has its standard error in the server's log", async () => {
    await run("complain of a draught");
    await until("the complaint", () => server.log.includes('"text":"of a draught"'));
  });

  it("may fill a log that nobody reads: the server and its leases live on", async () => {
    const agent = `node ${fixture("agent.mjs")}`;
    const flags = ["--store-dir", await scratch(), "--session-lease-ttl", "2s", "--agent", agent];
    const deaf = await ServerProcess.start(flags);
    deaf.ignoreLog();
    const id = await create(deaf);
    // Many times what a pipe holds; then longer than the lease lasts without renewal.
    const complaints = `complain ${"x".repeat(10_000)}\n`.repeat(40);
    const stream = await prompt(deaf, id, `${complaints}background 3`);
    expect(lastOf(await stream.rest())).toMatchObject({ type: "finished" });
    expect((await call("GET", `${deaf.url}/healthz`)).status).toBe(200);
  });

  it("contract server 4: goes on when its client is gone", async () => {
    const id = await create(server);
    const stream = await prompt(server, id, "background 1\nsay done");
    await stream.next("started");
    stream.hangUp();
    const end = await until("the end", async () =>
      (await eventsOf(server, id)).find(({ type }) => type === "finished"),
    );
    expect(end.exitCode).toBe(0);
  });

  it("is cancelled, and the session is free", async () => {
    const id = await create(server);
    const stream = await prompt(server, id, "say here\nwait");
    await stream.next("output");
    expect(await call("POST", sessionUrl(server, id, "/cancel"))).toMatchObject({ status: 202 });
    expect(lastOf(await stream.rest())).toMatchObject({ type: "cancelled", signal: "SIGTERM" });
    expect(await call("POST", sessionUrl(server, id, "/cancel"))).toMatchObject({
      status: 409,
      body: { code: "no_active_run" },
    });
    expect(lastOf(await (await prompt(server, id, "say again")).rest())).toMatchObject({ type: "finished" });
  });

  it("is stopped when its time is over", async () => {
    const flags = ["--store-dir", await scratch(), "--agent", `node ${fixture("agent.mjs")}`, "--run-timeout", "500ms"];
    const quick = await ServerProcess.start(flags);
    const stream = await prompt(quick, await create(quick), "wait");
    expect(lastOf(await stream.rest())).toMatchObject({ type: "failed", reason: "timeout" });
  });

  it("contract server 7: is counted, without a session's name in a label", async () => {
    await run("exit 3");
    const { body } = await call("GET", `${server.url}/metrics`);
    expect(body).toMatch(/^leasehold_acquires_total\{outcome="granted"\} [1-9]/m);
    expect(body).toMatch(/^leasehold_run_duration_seconds_count\{outcome="failed"\} [1-9]/m);
    expect(body).toMatch(/^leasehold_leases_held 0$/m);
    expect(body).toMatch(/^leasehold_losses_total\{reason="taken"\} 0$/m);
    expect(body).toMatch(/^leasehold_stale_writes_refused_total 0$/m);
    const labels = [...String(body).matchAll(/(\w+)="/g)].map(([, label]) => label);
    expect(new Set(labels)).toEqual(new Set(["outcome", "where", "previous", "reason", "le", "kind"]));
  });
});
