/** What process managers do to a server, and what it does then; `drain.test.ts` has the rest. Contract server 5. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { AGENT, startPair } from "./pair.js";
import { childrenOf, isDead, until } from "./processes.js";
import { ServerProcess, scratch } from "./server-process.js";

async function start(...flags: string[]): Promise<ServerProcess> {
  return await ServerProcess.start(["--store-dir", await scratch(), "--agent", AGENT, ...flags]);
}

describe("contract server 5: a process manager", { timeout: 60_000 }, () => {
  it("such as PM2 is told when the server is ready", async () => {
    const server = new ServerProcess(["--port", "0", "--store-dir", await scratch()]);
    expect(await server.ready).toEqual(["ready", undefined]);
  });

  it("may close its channel, and both pipes, and go: the server lives on", async () => {
    const server = await start();
    server.abandon();
    const id = await create(server);
    const complaints = "complain of much\n".repeat(1_000);
    expect((await (await prompt(server, id, `${complaints}say a`)).rest()).at(-1)?.data.type).toBe("finished");
    server.terminate();
    expect(await server.exited).toMatchObject({ code: 0 });
  });

  it("may be gone before the server is ready", async () => {
    const storeDir = await scratch();
    const server = new ServerProcess(["--port", "0", "--store-dir", storeDir]);
    server.abandon();
    // Made during the start, after the handlers are in place.
    await until("it starts", () => existsSync(join(storeDir, ".session-leases", "domain")));
    server.terminate();
    expect(await server.exited).toMatchObject({ code: 0, signal: null });
  });

  it("such as nodemon asks it to end by SIGUSR2: runs finish, leases are given back, exit 0", async () => {
    const server = await start();
    const run = await prompt(server, await create(server), "background 1\nsay here");
    await run.next("output");
    server.terminate("SIGUSR2");
    expect((await run.next("finished")).data.exitCode).toBe(0);
    const { code, stderr } = await server.exited;
    expect(code).toBe(0);
    expect(stderr).toMatch(/"event":"lease.released".*"outcome":"released"/);
    expect(stderr).toMatch(/"event":"drain.finished","finished":1,"aborted":0,"left":0/);
  });

  it.each(["SIGTERM", "SIGUSR2"] as const)(
    "may send %s to everything that the server has started, too: the run fails, in order",
    async (signal) => {
      const { one: server, other } = await startPair();
      const id = await create(server);
      const run = await prompt(server, id, "say here\nwait");
      await run.next("output");
      const children = childrenOf(server.pid) ?? [];
      expect(children).toHaveLength(2);
      server.terminate(signal);
      for (const pid of children) process.kill(pid, signal);
      expect((await run.next("failed")).data).toMatchObject({ reason: "signal", signal });
      expect(await server.exited).toMatchObject({ code: 0 });
      await until("nothing is left", () => children.every(isDead));
      expect((await call("GET", sessionUrl(other, id))).body.state).toBe("idle");
      expect((await eventsOf(other, id)).at(-1)).toMatchObject({ type: "failed", signal });
    },
  );
});
