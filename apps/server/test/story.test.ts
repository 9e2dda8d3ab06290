/**
 * The story that this server is for. Two servers share a store and ten sessions, and both are prompted at all of them, all
 * the time, by clients that are refused, wait, interrupt, and send again what was cut off. One server after the other is
 * killed, and started again; now and then one is stopped for longer than its leases last, and goes on.
 *
 * Afterwards the judge reads what the leases and the stores of all servers were asked and answered, the logs are read as
 * they are, and the agents' own marks show that none of them ran beside the next.
 *
 * `STORY_MINUTES` makes it longer (`npm run story -- --minutes 10`); then the counts are printed, and a history in which the
 * judge has found something is left in `reports/story`.
 */

import { cp, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Harness } from "@leasehold/conformance/processes";
import { JsonlSessionStore, type StoredEvent } from "@leasehold/session-store";
import { expect, it, onTestFinished } from "vitest";
import { isFinal, shownEvent } from "../src/run/run-events.js";
import { call, create, prompt } from "./client.js";
import { fixture, type ServerProcess, scratch } from "./server-process.js";
import { noCounts, promptOften, type Told } from "./story/clients.js";
import { Fleet } from "./story/fleet.js";

const TTL = 2_000;
const { STORY_MINUTES = "0" } = process.env;
const MINUTES = Number(STORY_MINUTES);
/** Where the history of a long story is left when the judge has found something. */
const KEPT = fileURLToPath(new URL("../../../reports/story", import.meta.url));
/** Ms. */
const LENGTH = MINUTES === 0 ? 9_000 : MINUTES * 60_000;
const SESSIONS = MINUTES === 0 ? 4 : 10;
const MOST = MINUTES === 0 ? 100 : Number.POSITIVE_INFINITY;

it("contract server 6, B73: two servers, ten sessions, killed and stopped all the time: one run per session, one chain per log", {
  timeout: 3 * LENGTH + 120_000,
}, async () => {
  const [storeDir, marks] = [join(await scratch(), "store"), await scratch()];
  await mkdir(storeDir);
  const harness = new Harness({
    title: "the server's story",
    ttl: TTL,
    retries: true,
    local: true,
    untold: ["retryAfterMs"],
  });
  onTestFinished(() => harness.close());
  const flags = ["--store-dir", storeDir, "--session-lease-ttl", `${TTL}ms`, "--log-level", "warn"];
  const agent = ["--agent", `/bin/sh ${fixture("beating-agent.sh")} ${marks}`];
  const fleet = new Fleet(harness, [...flags, ...agent], onTestFinished);
  const { north, south } = fleet;
  const [first] = await Promise.all([fleet.start(north), fleet.start(south)]);
  const ids = Array.from({ length: SESSIONS }, (_, i) => `story-${i}`);
  for (const id of ids) await create(first, id);

  const over = new AbortController();
  const [counts, told]: [ReturnType<typeof noCounts>, Told[]] = [noCounts(), []];
  const clients = [north, south].flatMap((place) =>
    ids.map((id) => promptOften(place, id, { counts, told, most: MOST, signal: over.signal })),
  );
  const end = performance.now() + LENGTH;
  for (let round = 0; performance.now() < end; round++) {
    await wait(1_500 + 1_000 * Math.random());
    const [victim, other] = round % 2 === 0 ? [north, south] : [south, north];
    await fleet.kill(victim);
    if (round % 2 === 1) continue;
    await wait(500);
    await fleet.stop(other, TTL * 1.5);
  }
  over.abort();
  await Promise.all(clients);
  // Whoever comes next ends in the log what a kill has left without an end.
  const [last, other] = [south.server as ServerProcess, north.server as ServerProcess];
  for (const id of ids) {
    await (await prompt(last, id, "1\n", { body: { on_busy: "wait", wait_ms: 60_000 } })).rest();
  }
  const refusals = (await staleWritesAt(last)) + (await staleWritesAt(other));
  const said = await fleet.drain();

  const store = new JsonlSessionStore({ directory: storeDir });
  onTestFinished(() => store.close());
  const logs = new Map<string, StoredEvent[]>();
  for (const id of ids) logs.set(id, await wholeLog(store, id));
  for (const [id, log] of logs) {
    harness.log(id, log);
    expectOneChain(log);
    await expectMarksInOrder(join(marks, id));
  }
  expectTold(told, logs);
  const judgement = harness.judge();
  const findings = judgement.accepted ? [] : harness.findings();
  if (findings.length > 0 && MINUTES > 0) await cp(dirname(harness.historyOf("nobody")), KEPT, { recursive: true });
  expect(findings, said).toEqual([]);

  const judged = judgement.counts;
  const events = [...logs.values()].flat().length;
  expect(judged).toMatchObject({ sessions: SESSIONS });
  expect(fleet.counts.killed).toBeGreaterThan(0);
  expect(judged.takeovers).toBeGreaterThan(0);
  expect(counts.finished).toBeGreaterThan(0);
  const all = { ...fleet.counts, ...counts, events, refusals, judged };
  if (MINUTES > 0) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
});

async function staleWritesAt({ url }: ServerProcess): Promise<number> {
  const { body } = await call("GET", `${url}/metrics`);
  return Number(/^leasehold_stale_writes_refused_total (\d+)$/m.exec(body)?.[1]);
}

async function wholeLog(store: JsonlSessionStore, id: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page = await store.read(id, { after, limit: 1_000 });
    events.push(...page.events);
    after = page.next;
  }
  return events;
}

/** Without gap or duplicate, tokens that never fall, and runs side by side: started, said, ended. */
function expectOneChain(log: readonly StoredEvent[]): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  const seen = new Set<string>();
  for (const [index, event] of log.entries()) {
    const before = log[index - 1];
    if (before !== undefined) expect(event.token >= before.token).toBe(true);
    if (event.type === "started") {
      expect(seen.has(event.runId)).toBe(false);
      expect(before === undefined || isFinal(before)).toBe(true);
      seen.add(event.runId);
    } else {
      expect(before?.runId).toBe(event.runId);
      expect(before !== undefined && isFinal(before)).toBe(false);
    }
  }
  expect(log.length > 0 && isFinal(log.at(-1) as StoredEvent)).toBe(true);
}

/** An agent, or its child, that left a mark after the next holder's would show here. */
async function expectMarksInOrder(file: string): Promise<void> {
  const tokens = (await readFile(file, "utf8")).trim().split("\n").map(BigInt);
  expect(tokens.every((token, index) => index === 0 || token >= (tokens[index - 1] as bigint))).toBe(true);
}

/** Nothing that a client was told is missing, or different. */
function expectTold(told: readonly Told[], logs: ReadonlyMap<string, readonly StoredEvent[]>): void {
  for (const { sessionId, event } of told) {
    if (event.seq === undefined) continue;
    const kept = logs.get(sessionId)?.[event.seq - 1];
    expect(kept && shownEvent(kept)).toEqual(event);
  }
}
