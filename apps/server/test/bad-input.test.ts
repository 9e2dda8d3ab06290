/**
 * What clients and agents do that nobody asked them to: a clear answer, bounded memory, nothing left over. Pages of other
 * sites are in `http.test.ts`, tokens in `access.test.ts`; agents that leave their group, print what is not UTF-8, or exit at
 * once in `agent.test.ts`, and those that ignore SIGTERM in `second-request.test.ts` and `drain.test.ts`.
 */

import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createApp } from "../src/http/create-app.js";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { childrenOf, isDead, until } from "./processes.js";
import { fixture, ServerProcess, scratch } from "./server-process.js";

const TIMEOUT = 60_000;
const MIB = 1_048_576;
const cleanups: (() => Promise<void>)[] = [];
let server: ServerProcess;

beforeAll(async () => {
  const later = (clean: () => Promise<void>): void => void cleanups.unshift(clean);
  const flags = ["--store-dir", await scratch(later), "--agent", `node ${fixture("agent.mjs")}`];
  server = await ServerProcess.start(flags, { atEnd: later });
}, TIMEOUT);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

/** Bytes that the process has of its own now. */
async function memory(): Promise<number> {
  return Number(/RssAnon:\s+(\d+)/.exec(await readFile(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1_024;
}

async function expectNothingLeft(id: string): Promise<void> {
  await until("the session is idle", async () => (await call("GET", sessionUrl(server, id))).body.state === "idle");
  const [held] = /^leasehold_leases_held \d+$/m.exec((await call("GET", `${server.url}/metrics`)).body) ?? [];
  expect(held).toBe("leasehold_leases_held 0");
  // The watcher is the only child that stays.
  const agents = (childrenOf(server.pid) ?? []).filter((pid) => !isDead(pid)).length - 1;
  expect(agents).toBe(0);
}

describe("a client", { timeout: TIMEOUT }, () => {
  it("sends a body that never ends: 413 as soon as it is too large, whatever it goes on to send", async () => {
    const socket = connectTo(server.url);
    socket.write("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n");
    socket.write("transfer-encoding: chunked\r\n\r\n");
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const before = await memory();
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    let goOn: () => void = () => {};
    socket.on("drain", () => goOn()).on("close", () => goOn());
    for (let sent = 0; sent < 64 * MIB && !socket.destroyed; sent += chunk.length) {
      const drained = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      if (!socket.write(chunk)) await drained;
    }
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect((await memory()) - before).toBeLessThan(64 * MIB);
    socket.destroy();
  });

  it("stops in the middle of a body, or of its headers: 408", async () => {
    const app = createApp([(app) => void app.post("/", async () => "read")], {
      guard: { allowedHosts: [], allowedOrigins: [] },
      log: pino({ level: "silent" }),
      requestTimeout: 300,
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const head = "POST / HTTP/1.1\r\nHost: localhost\r\n";
    for (const beginning of [head, `${head}content-type: application/json\r\ncontent-length: 10\r\n\r\n{`]) {
      const socket = connectTo(url);
      socket.write(beginning);
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      expect(answer).toMatch(/^HTTP\/1.1 408 /);
      expect(answer).toContain('"code":"timeout"');
    }
  });

  it("reads nothing of a stream: the run goes on without it, and little waits for it", async () => {
    const id = await create(server);
    const before = await memory();
    const body = JSON.stringify({ prompt: `long ${8 * MIB}\nsay end` });
    const deaf = connectTo(server.url);
    const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    deaf.write(`POST /v1/sessions/${id}/prompt HTTP/1.1\r\nHost: localhost\r\n${head}${body}`);
    deaf.pause();
    await until("it runs", async () => (await call("GET", sessionUrl(server, id))).body.state === "running_here");
    const followers = Array.from({ length: 20 }, () => {
      const follower = connectTo(server.url).pause();
      follower.write(`GET /v1/sessions/${id}/events?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      return follower;
    });
    await until("the run is over", async () => (await eventsOf(server, id)).at(-1)?.type === "finished", {
      withinMs: 50_000,
    });
    // What all of them have not read is 168 MiB.
    expect((await memory()) - before).toBeLessThan(64 * MIB);
    for (const socket of [deaf, ...followers]) socket.destroy();
    await until("nobody follows", async () =>
      /^leasehold_followers 0$/m.test((await call("GET", `${server.url}/metrics`)).body),
    );
    await expectNothingLeft(id);
  });

  it("sends 10,000 prompts to one session: one runs, the others are told to come back", {
    timeout: 120_000,
  }, async () => {
    const id = await create(server);
    const run = await prompt(server, id, "say here\nwait");
    await run.next("output");
    const before = await memory();
    const statuses = await Promise.all(Array.from({ length: 20 }, () => pipeline(id, 500)));
    expect(statuses.flat().length).toBe(10_000);
    expect(new Set(statuses.flat())).toEqual(new Set(["409 session_busy"]));
    expect((await memory()) - before).toBeLessThan(100 * MIB);
    await call("POST", sessionUrl(server, id, "/cancel"));
    await run.next("cancelled");
    expect(await eventsOf(server, id)).toHaveLength(3);
    await expectNothingLeft(id);
  });
});

describe("an agent", { timeout: TIMEOUT }, () => {
  it("prints a line of a gigabyte: it comes in pieces, and is stopped in the middle of it", async () => {
    const id = await create(server);
    const before = await memory();
    const run = await prompt(server, id, `long ${1_024 * MIB}`);
    let length = 0;
    while (length < 32 * MIB) length += (await run.next("output")).data.text?.length ?? 0;
    expect((await memory()) - before).toBeLessThan(100 * MIB);
    await call("POST", sessionUrl(server, id, "/cancel"));
    await run.next("cancelled");
    await expectNothingLeft(id);
  });

  it("cannot be started any more: 503, nothing in the log, the lease given back", async () => {
    const work = await scratch();
    const file = join(work, "agent.sh");
    await writeFile(file, "#!/bin/sh\necho here\n");
    await chmod(file, 0o700);
    const flags = ["--store-dir", join(work, "store"), "--agent", file];
    const bereft = await ServerProcess.start(flags);
    const id = await create(bereft);
    await (await prompt(bereft, id, "x")).next("finished");
    const stateIs = async (state: string) => (await call("GET", sessionUrl(bereft, id))).body.state === state;
    await until("the lease is back", () => stateIs("idle"));
    await rm(file);
    const refused = await call("POST", sessionUrl(bereft, id, "/prompt"), { prompt: "x" });
    expect(refused).toMatchObject({ status: 503, body: { code: "agent_unavailable" } });
    expect(JSON.stringify(refused.body)).not.toContain(work);
    expect(await eventsOf(bereft, id)).toHaveLength(3);
    expect(await stateIs("idle")).toBe(true);
  });
});

function connectTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  // What the server does not want to hear any more it may cut off.
  socket.on("error", () => {});
  return socket;
}

/** As many prompts on one connection, without waiting for an answer. Resolves to "STATUS CODE" of each. */
async function pipeline(id: string, times: number): Promise<string[]> {
  const socket = connectTo(server.url);
  const body = '{"prompt":"x"}';
  const head = `Host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  const one = `POST /v1/sessions/${id}/prompt HTTP/1.1\r\n${head}`;
  socket.write(`${one}\r\n${body}`.repeat(times - 1));
  socket.write(`${one}connection: close\r\n\r\n${body}`);
  let text = "";
  for await (const chunk of socket) text += chunk;
  return [...text.matchAll(/HTTP\/1.1 (\d+)[^{]*{"code":"(\w+)"/g)].map(([, status, code]) => `${status} ${code}`);
}
