/** Two servers on one store: what the other server costs those who stop, interrupt and follow a run, and those who wait. */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { type BenchServer, createSession, eventsOf, post, until, withServers } from "./bench-server.js";
import { type Bench, type Line, quantile } from "./line.js";

const ROUNDS = 50;
const KILLS = 10;
const TICKS = 300;
const FOLLOWERS = 1_000;
const WAITERS = 200;
const AGENT = `sh ${fileURLToPath(new URL("../agent.sh", import.meta.url))}`;

/** Its agent ends at SIGTERM at once, so that nothing but the hand-over is measured. */
async function running(server: BenchServer, path: string): Promise<ReturnType<typeof eventsOf>> {
  const events = eventsOf(await post(`${server.url}${path}/prompt`, { prompt: "wait" }));
  await until(events, "started");
  return events;
}

async function interrupt(one: BenchServer, other: BenchServer): Promise<number[]> {
  const path = await createSession(one, "interrupted");
  const delays: number[] = [];
  let holder = await running(one, path);
  for (let round = 0; round < ROUNDS; round += 1) {
    const asked = performance.now();
    const body = { prompt: "wait", on_busy: "interrupt" };
    const next = eventsOf(await post(`${(round % 2 === 0 ? other : one).url}${path}/prompt`, body));
    await until(next, "started");
    delays.push(performance.now() - asked);
    await until(holder, "cancelled");
    holder = next;
  }
  return delays;
}

async function cancel(one: BenchServer, other: BenchServer): Promise<number[]> {
  const path = await createSession(one, "cancelled");
  const delays: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const run = await running(one, path);
    const pressed = performance.now();
    await post(`${other.url}${path}/cancel`);
    await until(run, "cancelled");
    delays.push(performance.now() - pressed);
    // The lease follows upon the last event.
    for await (const _ of run);
  }
  return delays;
}

/** Of servers killed in the middle of a run, although their leases would last for an hour. */
async function takeover(): Promise<number[]> {
  const delays: number[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    await withServers(2, ["--agent", AGENT, "--session-lease-ttl", "1h"], async ([one, other]) => {
      if (one === undefined || other === undefined) throw new Error("two servers were started");
      const path = await createSession(one, "orphaned");
      const holder = await running(one, path);
      const lost = holder.next().catch(() => undefined);
      process.kill(one.pid, "SIGKILL");
      const killed = performance.now();
      // The kernel takes a moment to end it; until then it holds the session.
      const body = { prompt: "wait", on_busy: "wait" };
      await until(eventsOf(await post(`${other.url}${path}/prompt`, body)), "started");
      delays.push(performance.now() - killed);
      await lost;
    });
  }
  return delays;
}

/** From the agent's clock to the follower, on one host. */
async function follow(one: BenchServer, other: BenchServer): Promise<number[]> {
  const path = await createSession(one, "followed");
  const run = eventsOf(await post(`${one.url}${path}/prompt`, { prompt: `tick ${TICKS}` }));
  await until(run, "started");
  const delays: number[] = [];
  for await (const { type, text } of eventsOf(await fetch(`${other.url}${path}/events?follow=1`))) {
    if (type === "output") delays.push(Date.now() - Number(text));
  }
  await run.return(undefined);
  return delays;
}

/** Bytes that the process has of its own. */
async function memory({ pid }: BenchServer): Promise<number> {
  return Number(/RssAnon:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
}

/** Bare sockets: of fetch's streams, a thousand would cost this process more than the server. */
async function follower({ url }: BenchServer, path: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(`GET ${path}/events?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  for (let text = ""; !text.includes("event: started"); ) text += String((await once(socket, "data"))[0]);
  socket.resume();
  return socket;
}

async function followersCost(one: BenchServer, other: BenchServer): Promise<number> {
  const path = await createSession(one, "crowded");
  await running(one, path);
  // The code is loaded, and what it needs once it has.
  (await follower(other, path)).destroy();
  const before = await memory(other);
  const sockets = await Promise.all(Array.from({ length: FOLLOWERS }, () => follower(other, path)));
  const cost = (await memory(other)) - before;
  for (const socket of sockets) socket.destroy();
  await post(`${one.url}${path}/cancel`);
  return cost / 1e6;
}

/** How many of those who waited in line at one server ran before somebody who had come before them. */
async function overtaken(one: BenchServer): Promise<number> {
  const path = await createSession(one, "queued");
  await running(one, path);
  const waiting: Promise<void>[] = [];
  for (let at = 0; at < WAITERS; at += 1) {
    const body = { prompt: `${at}`, on_busy: "wait", wait_ms: 600_000 };
    waiting.push(post(`${one.url}${path}/prompt`, body).then(async (response) => void (await response.text())));
    while ((await inLine(one)) <= at);
  }
  await post(`${one.url}${path}/cancel`);
  await Promise.all(waiting);
  const { events } = (await (await fetch(`${one.url}${path}/events?limit=1000`)).json()) as {
    events: { type: string; prompt?: string }[];
  };
  const order = events
    .filter(({ type, prompt }) => type === "started" && prompt !== "wait")
    .map(({ prompt }) => Number(prompt));
  return WAITERS - order.filter((waiter, at) => waiter === at).length;
}

async function inLine({ url }: BenchServer): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^leasehold_runs_waiting (\d+)$/m.exec(metrics)?.[1]);
}

function delayLines(what: string, delays: readonly number[], limit: number): Line[] {
  const line = (figure: string, measured: number): Line => ({
    bench: "two-servers",
    what: `${what}, ${figure} of ${delays.length}`,
    measured,
    unit: "ms",
    bound: { kind: "at most", limit },
  });
  return [line("p50", quantile(delays, 0.5)), line("p99", quantile(delays, 0.99)), line("max", Math.max(...delays))];
}

export const twoServersBench: Bench = {
  name: "two-servers",
  async run(): Promise<readonly Line[]> {
    const takeovers = delayLines(
      "SIGKILL of the first server to the next run's first event at the other",
      await takeover(),
      1_000,
    );
    return await withServers(2, ["--agent", AGENT], async ([one, other]) => {
      if (one === undefined || other === undefined) throw new Error("two servers were started");
      return [
        ...takeovers,
        ...delayLines(
          "interrupt from the other server to the next run's first event",
          await interrupt(one, other),
          1_000,
        ),
        ...delayLines("cancel at the other server to the run's last event", await cancel(one, other), 1_000),
        ...delayLines("agent's line to a follower at the other server", await follow(one, other), 300),
        {
          bench: "two-servers",
          what: `${FOLLOWERS} followers of one session: memory of the server`,
          measured: await followersCost(one, other),
          unit: "MB",
          bound: { kind: "at most", limit: 100 },
        },
        {
          bench: "two-servers",
          what: `${WAITERS} that wait in line: not run in the order in which they came`,
          measured: await overtaken(one),
          unit: "",
          bound: { kind: "at most", limit: 0 },
        },
      ];
    });
  },
};
