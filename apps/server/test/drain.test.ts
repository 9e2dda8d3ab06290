import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { childrenOf, isDead, until } from "./processes.js";
import { fixture, ServerProcess, scratch } from "./server-process.js";

const AGENT = `node ${fixture("agent.mjs")}`;

describe("contract server 5: a server that is told to end", { timeout: 60_000 }, () => {
  it.each(["SIGTERM", "SIGINT"] as const)("by %s lets runs finish, and takes no more", async (signal) => {
    const storeDir = await scratch();
    const [one, two] = await Promise.all([start(storeDir), start(storeDir)]);
    const id = await create(one);
    const other = await create(one);
    const run = await prompt(one, id, "background 2\nsay last words");
    await run.next("output");
    one.terminate(signal);
    await until("it drains", async () => (await call("GET", `${one.url}/readyz`)).status === 503);
    expect((await call("GET", `${one.url}/readyz`)).body).toMatchObject({ status: "draining", runs: 1 });
    expect((await call("GET", `${one.url}/healthz`)).status).toBe(200);
    const refused = await call("POST", sessionUrl(one, other, "/prompt"), { prompt: "say x" });
    expect(refused).toMatchObject({ status: 503, body: { code: "draining" } });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await eventsOf(one, other)).length).toBe(0);

    await run.next("finished");
    expect(await one.exited).toMatchObject({ code: 0 });
    await (await prompt(two, id, "say mine")).next("finished");
  });

  it("gives a run its end and its lease back when something that left the agent's group keeps the output open", async () => {
    const storeDir = await scratch();
    const marks = await scratch();
    const agent = `/bin/sh ${fixture("leaving-agent.sh")} ${marks}`;
    const flags = ["--store-dir", storeDir, "--agent", agent, "--drain-timeout", "100ms"];
    const server = await ServerProcess.start(flags);
    const id = await create(server);
    const run = await prompt(server, id, "x");
    await run.next("output");
    server.terminate("SIGTERM");
    expect((await run.rest()).at(-1)?.data.type).toBe("failed");
    expect(await server.exited).toMatchObject({ code: 0 });
    const after = await start(storeDir);
    expect((await eventsOf(after, id)).map(({ type }) => type)).toEqual(["started", "output", "failed"]);
    process.kill(Number(await readFile(join(marks, "left"), "utf8")), "SIGKILL");
  });

  it("while it starts ends without having listened, and leaves no lease", async () => {
    const storeDir = await scratch();
    const server = new ServerProcess(["--port", "0", "--store-dir", storeDir]);
    // The leases' directory is made during the start, after the handlers are in place.
    await until("it starts", () => existsSync(join(storeDir, ".session-leases", "domain")));
    server.terminate();
    const { code, signal, stdout } = await server.exited;
    // Where the signal came late it had begun to listen.
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(stdout.split("\n").length).toBeLessThanOrEqual(2);
  });

  it("ends what has not finished in time, with a last event and a release", async () => {
    const storeDir = await scratch();
    const [one, two] = await Promise.all([start(storeDir, ["--drain-timeout", "200ms"]), start(storeDir)]);
    const id = await create(one);
    const run = await prompt(one, id, "say here\nwait");
    await run.next("output");
    one.terminate();
    expect((await run.next("failed")).data).toMatchObject({ reason: "drain" });
    expect(await one.exited).toMatchObject({ code: 0 });
    const next = await prompt(two, id, "say mine");
    expect((await next.next("started")).data.recovered).toBeUndefined();
    await next.next("finished");
  });

  it("kills an agent that ignores SIGTERM within the time for it", async () => {
    const work = await scratch();
    const agent = `node ${fixture("stubborn-agent.mjs")} ${work}`;
    const one = await start(await scratch(), ["--drain-timeout", "0s"], agent);
    const run = await prompt(one, await create(one), "go");
    await run.next("output");
    one.terminate();
    expect((await run.next("failed")).data).toMatchObject({ reason: "drain", signal: "SIGKILL" });
    const { code, stderr } = await one.exited;
    expect(code).toBe(0);
    expect(stderr).toMatch(/"event":"drain.finished","finished":0,"aborted":1,"left":0/);
  });

  it("ends at once at a second signal, its agent with it", async () => {
    const one = await start(await scratch());
    const run = await prompt(one, await create(one), "say here\nwait");
    await run.next("output");
    // The agent and its watcher.
    const children = childrenOf(one.pid) ?? [];
    expect(children).toHaveLength(2);
    one.terminate();
    await until("it drains", async () => (await call("GET", `${one.url}/readyz`)).status === 503);
    one.terminate();
    expect(await one.exited).toMatchObject({ code: 143 });
    await until("they are gone", () => children.every(isDead));
  });

  it("drains by request, and stays to be looked at until a signal ends it", async () => {
    const one = await start(await scratch());
    const id = await create(one);
    expect((await call("GET", `${one.url}/readyz`)).body).toMatchObject({
      status: "ready",
      backend: "ok",
      exclusive: true,
    });
    expect(await call("POST", `${one.url}/v1/drain`)).toMatchObject({ status: 202, body: { status: "draining" } });
    expect((await call("GET", `${one.url}/readyz`)).status).toBe(503);
    expect(await call("POST", `${one.url}/v1/sessions`, {})).toMatchObject({ status: 503, body: { code: "draining" } });
    expect((await call("GET", sessionUrl(one, id))).status).toBe(200);
    one.terminate();
    expect(await one.exited).toMatchObject({ code: 0 });
  });
});

function start(storeDir: string, flags: readonly string[] = [], agent: string = AGENT): Promise<ServerProcess> {
  return ServerProcess.start(["--store-dir", storeDir, "--agent", agent, ...flags]);
}
