/** Clients that do not take their answers: nothing is kept for them for ever. */

import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { FakeClock } from "@leasehold/conformance";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { createApp } from "../src/http/create-app.js";
import { EventStream, OF_A_FOLLOWER } from "../src/http/event-stream.js";
import { until } from "./processes.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 30_000 });

/** More than the kernel takes for a client that reads nothing. */
const MUCH = 16 * 1_048_576;

async function serve(route: (app: FastifyInstance) => void): Promise<{ app: FastifyInstance; client: Socket }> {
  const app = createApp([route], {
    guard: { allowedHosts: [], allowedOrigins: [] },
    log: pino({ level: "silent" }),
    unreadTimeout: 200,
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const client = connect({ port: (app.server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => {});
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  return { app, client };
}

const connections = (app: FastifyInstance): Promise<number> =>
  new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)));

async function expectLetGo(app: FastifyInstance): Promise<void> {
  await until("the connection is closed", async () => (await connections(app)) === 0, { withinMs: 20_000 });
}

it("closes on a client that does not read the rest of a stream that has ended", async () => {
  const { app, client } = await serve((app) => {
    app.get("/", (_, reply) => {
      const stream = new EventStream(reply, new FakeClock(), { ...OF_A_FOLLOWER, maxWaiting: 2 * MUCH });
      void stream.send(Buffer.alloc(MUCH, "x"));
      stream.end();
    });
  });
  client.pause().write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await until("it is there", async () => (await connections(app)) === 1);
  await expectLetGo(app);
});

it("closes on a client that does not read an answer", async () => {
  const { app, client } = await serve((app) => void app.get("/", async () => "x".repeat(MUCH)));
  client.pause().write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await until("it is there", async () => (await connections(app)) === 1);
  await expectLetGo(app);
});

it("closes on a client that goes on saying nothing after it has said what is no HTTP", async () => {
  const { app, client } = await serve(() => {});
  let answer = "";
  client.on("data", (chunk) => {
    answer += chunk;
  });
  client.write("nonsense\r\n\r\n");
  await once(client, "end");
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  await expectLetGo(app);
});

it("lets a client take its time that reads on, however slowly", async () => {
  const { app, client } = await serve((app) => void app.get("/", async () => "x".repeat(MUCH)));
  client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  let bytes = 0;
  const began = performance.now();
  for await (const chunk of client) {
    bytes += (chunk as Buffer).length;
    // Some 600 ms in all: three times what a client may pause.
    if (performance.now() - began < 600) await new Promise((resolve) => setTimeout(resolve, 20));
    if (bytes > MUCH) break;
  }
  expect(bytes).toBeGreaterThan(MUCH);
  expect(app.server.listening).toBe(true);
});

it("waits with whoever has sent the next request already, for as long as its answer takes", async () => {
  const { client } = await serve((app) => {
    app.get("/soon", async () => "soon");
    app.get("/late", async () => {
      // Three times what a client may leave an answer unread.
      await new Promise((resolve) => setTimeout(resolve, 600));
      return "late";
    });
  });
  const head = "HTTP/1.1\r\nHost: localhost\r\n";
  client.write(`GET /soon ${head}\r\nGET /late ${head}connection: close\r\n\r\n`);
  let text = "";
  for await (const chunk of client) text += chunk;
  expect(text).toMatch(/soonHTTP.*late$/s);
});
