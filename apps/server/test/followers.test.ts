/** A thousand who follow one session, from a server that does not run it. */

import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { until } from "./processes.js";
import { fixture, ServerProcess, scratch } from "./server-process.js";

const FOLLOWERS = 1_000;
const MIB = 1_024;

/** KiB of its own. */
async function memory({ pid }: ServerProcess): Promise<number> {
  return Number(/RssAnon:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}

it("a thousand followers of one session cost under 100 MB, and hear everything", { timeout: 120_000 }, async () => {
  const flags = ["--store-dir", await scratch(), "--agent", `node ${fixture("agent.mjs")}`];
  const [one, other] = await Promise.all([ServerProcess.start(flags), ServerProcess.start(flags)]);
  const id = await create(one);
  const run = await prompt(one, id, "say first\nwait");
  await run.next("output");
  // The code is loaded, and what it needs once it has.
  await (await followRaw(other, id)).destroyed();
  const before = await memory(other);

  const followers = await Promise.all(Array.from({ length: FOLLOWERS }, () => followRaw(other, id)));
  await Promise.all(followers.map((each) => each.heard(2)));
  expect((await call("GET", `${other.url}/metrics`)).body).toMatch(
    new RegExp(`^leasehold_followers ${FOLLOWERS}$`, "m"),
  );
  expect((await memory(other)) - before).toBeLessThan(100 * MIB);
  await call("POST", sessionUrl(one, id, "/cancel"));
  await Promise.all(followers.map((each) => each.ended));
  const wanted = (await eventsOf(one, id)).map(({ seq, type }) => `${seq} ${type}`);
  expect(wanted).toEqual(["1 started", "2 output", "3 cancelled"]);
  for (const { seen } of followers) expect(seen()).toEqual(wanted);
  await until("nobody follows", async () =>
    /^leasehold_followers 0$/m.test((await call("GET", `${other.url}/metrics`)).body),
  );
});

interface Follower {
  readonly seen: () => string[];
  /** Resolves when so many events have come. */
  readonly heard: (events: number) => Promise<void>;
  readonly ended: Promise<void>;
  readonly destroyed: () => Promise<void>;
}

/** Bare sockets: a thousand of fetch's streams would cost this process more than the server. */
function followRaw(server: ServerProcess, id: string): Promise<Follower> {
  const socket: Socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  let text = "";
  let wake: () => void = () => {};
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const seen = (): string[] =>
    [...text.matchAll(/^id: (\d+)\nevent: (\w+)$/gm)].map(([, seq, type]) => `${seq} ${type}`);
  const heard = async (events: number): Promise<void> => {
    while (seen().length < events) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  socket.on("data", (chunk) => {
    text += chunk;
    wake();
    if (text.endsWith("0\r\n\r\n")) socket.destroy();
  });
  socket.write(`GET /v1/sessions/${id}/events?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const destroyed = async (): Promise<void> => {
    await heard(1);
    socket.destroy();
    await ended;
  };
  return new Promise((resolve, reject) => {
    socket.on("connect", () => resolve({ seen, heard, ended, destroyed }));
    socket.on("error", reject);
  });
}
