import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Harness } from "@leasehold/conformance/processes";
import { DEFAULT_TTL } from "@leasehold/session-lease";
import { JsonlSessionStore } from "@leasehold/session-store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { isDead, sizeOf, until } from "./processes.js";
import { fixture, ServerProcess, scratch } from "./server-process.js";

const STUBBORN = `node ${fixture("stubborn-agent.mjs")}`;
const TIMEOUT = 60_000;

/** Everything that the servers of one test do. */
let harness: Harness;
beforeEach(() => {
  harness = new Harness({ ttl: DEFAULT_TTL, retries: true, untold: ["retryAfterMs"] });
});
afterEach(() => harness.close());

describe("two servers, one store", () => {
  it("B73: refuses a second run: 409 with Retry-After from the other server, another 409 from the same", {
    timeout: TIMEOUT,
  }, async () => {
    const storeDir = await scratch();
    const [one, two] = await Promise.all([start("one", storeDir), start("two", storeDir)]);
    const id = await create(one);
    const run = await prompt(one, id, "wait 1h");
    await run.next("started");

    const elsewhere = await call("POST", sessionUrl(two, id, "/prompt"), { prompt: "b" });
    expect(elsewhere).toMatchObject({ status: 409, body: { code: "session_leased_elsewhere" } });
    const seconds = Number(elsewhere.headers.get("retry-after"));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(5);
    expect(Math.ceil(elsewhere.body.retryAfterMs / 1_000)).toBe(seconds);
    expect(JSON.stringify(elsewhere.body)).not.toContain(String(one.pid));

    const here = await call("POST", sessionUrl(one, id, "/prompt"), { prompt: "b" });
    expect(here).toMatchObject({ status: 409, body: { code: "session_busy" } });
    expect(Number(here.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);

    expect((await call("GET", sessionUrl(one, id))).body.state).toBe("running_here");
    expect((await call("GET", sessionUrl(two, id))).body.state).toBe("running_elsewhere");
    expect(await call("DELETE", sessionUrl(two, id))).toMatchObject({
      status: 409,
      body: { code: "session_leased_elsewhere" },
    });
    expect(await call("DELETE", sessionUrl(one, id))).toMatchObject({ status: 409, body: { code: "session_busy" } });

    // Either server stops it.
    expect((await call("POST", sessionUrl(two, id, "/cancel"))).status).toBe(202);
    await run.next("cancelled");
    await run.rest();
    const again = await prompt(two, id, "mine now");
    await again.next("finished");
    expect(await runsIn(two, id)).toEqual([
      ["started", "cancelled"],
      ["started", "finished"],
    ]);
    await expectAccepted(storeDir, id);
  });

  it("B06: takes over from a killed server at once, its agent dead first", { timeout: TIMEOUT }, async () => {
    const [storeDir, work] = [await scratch(), await scratch()];
    const flags = ["--session-lease-ttl", "1h", "--agent", `${STUBBORN} ${work}`];
    const [one, two] = await Promise.all([start("one", storeDir, flags), start("two", storeDir, flags)]);
    const id = await create(one);
    const first = await prompt(one, id, "go");
    const { token } = (await first.next("started")).data;
    await until("the grandchild writes", () => sizeOf(join(work, "ticks")) > 0, { log: () => one.log });

    await one.kill();
    const killed = performance.now();
    const second = await prompt(two, id, "go on");
    const started = await second.next("started");
    // Generous, for a busy machine (`bench two-servers` measures it): still, nobody waited for the lease, which lasts an hour.
    expect(performance.now() - killed).toBeLessThan(10_000);
    expect(started.data.recovered).toBe(true);
    expect(BigInt(started.data.token)).toBeGreaterThan(BigInt(token));
    expect((await second.next("output")).data.text).toBe("alive before: 0 of 2");

    // Another process, with the token of the dead one.
    const store = new JsonlSessionStore({ directory: storeDir });
    const stale = store.append(id, BigInt(token), { runId: "r", type: "output" });
    await expect(stale).rejects.toMatchObject({ code: "stale-token" });
    await store.close();

    const log = await eventsOf(two, id);
    const recovered = log.find(({ type }) => type === "failed");
    expect(recovered).toMatchObject({ reason: "abandoned", recovered: true, token: started.data.token });
    expect(recovered?.runId).not.toBe(started.data.runId);
    await call("POST", sessionUrl(two, id, "/cancel"));
    await second.next("cancelled");
    const ticks = readFileSync(join(work, "ticks"), "utf8").trim().split("\n").map(BigInt);
    expect(ticks).toEqual(ticks.toSorted((a, b) => Number(a - b)));
    await expectAccepted(storeDir, id);
  });

  it("B60: lets a stopped server's run be lost to its successor", { timeout: TIMEOUT }, async () => {
    const [storeDir, work] = [await scratch(), await scratch()];
    const flags = ["--session-lease-ttl", "3s", "--agent", `${STUBBORN} ${work}`];
    const [one, two] = await Promise.all([start("one", storeDir, flags), start("two", storeDir, flags)]);
    const id = await create(one);
    const first = await prompt(one, id, "go");
    const before = (await first.next("started")).data;
    await until("the grandchild writes", () => sizeOf(join(work, "ticks")) > 0, { log: () => one.log });
    const pids = JSON.parse(readFileSync(join(work, "pids"), "utf8")) as number[];

    await one.stop();
    const second = await until("the other server takes over", () => prompt(two, id, "go on").catch(() => undefined));
    const after = (await second.next("started")).data;
    expect(after).toMatchObject({ recovered: true });
    expect(BigInt(after.token)).toBeGreaterThan(BigInt(before.token));
    expect((await second.next("output")).data.text).toBe("alive before: 0 of 2");
    one.cont();

    const lost = await first.next("lease_lost");
    expect(lost.id).toBeUndefined();
    expect(lost.data).toMatchObject({ runId: before.runId, token: before.token });
    expect(lost.data.seq).toBeUndefined();
    expect((await first.rest()).at(-1)).toBe(lost);
    for (const pid of pids) await until(`process ${pid} is gone`, () => isDead(pid));

    await call("POST", sessionUrl(two, id, "/cancel"));
    await second.next("cancelled");
    const log = await eventsOf(two, id);
    const takenOver = log.findIndex(({ token }) => token === after.token);
    expect(log.slice(0, takenOver).every(({ token }) => token === before.token)).toBe(true);
    expect(log.slice(takenOver).every(({ token }) => token === after.token)).toBe(true);
    expect(log.slice(takenOver + 1).every(({ runId }) => runId === after.runId)).toBe(true);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    await expectAccepted(storeDir, id);
  });

  it("are convicted when each has leases of its own: two run one session at once", { timeout: TIMEOUT }, async () => {
    const storeDir = await scratch();
    const flags = async (): Promise<string[]> => ["--session-lease-dir", await scratch(), "--adopt-store"];
    const one = await start("one", storeDir, await flags());
    const two = await start("two", storeDir, await flags());
    const id = await create(one);
    await (await prompt(one, id, "wait 1h")).next("started");
    await (await prompt(two, id, "wait 1h")).next("started");
    expect(harness.judge().violations.map(({ rule }) => rule)).toContain("two-holders");
  });
});

describe("a server that was stopped, with nobody taking over", () => {
  it("goes on with the same token when it is continued soon enough", { timeout: TIMEOUT }, async () => {
    const [storeDir, work] = [await scratch(), await scratch()];
    const one = await start("one", storeDir, ["--session-lease-ttl", "3s", "--agent", `${STUBBORN} ${work}`]);
    const id = await create(one);
    const run = await prompt(one, id, "go");
    const { token } = (await run.next("started")).data;
    await until("the grandchild writes", () => sizeOf(join(work, "ticks")) > 0, { log: () => one.log });

    await one.stop();
    // The leash stops the agent's group at the end of validity: then nothing is written any more.
    const [agent] = JSON.parse(readFileSync(join(work, "pids"), "utf8")) as [number];
    await until("the agent is stopped", () => readFileSync(`/proc/${agent}/stat`, "utf8").includes(") T "));
    one.cont();
    const seen = run.seen.length;
    const size = sizeOf(join(work, "ticks"));
    await until("the grandchild writes again", () => sizeOf(join(work, "ticks")) > size, { log: () => one.log });
    await run.next("output");
    await call("POST", sessionUrl(one, id, "/cancel"));
    await run.next("cancelled");
    expect(run.seen.length).toBeGreaterThan(seen);
    expect(new Set((await eventsOf(one, id)).map((event) => event.token))).toEqual(new Set([token]));
    await expectAccepted(storeDir, id);
  });

  it("fails the run, whose agent is dead, when it is continued too late", { timeout: TIMEOUT }, async () => {
    const [storeDir, work] = [await scratch(), await scratch()];
    const one = await start("one", storeDir, ["--session-lease-ttl", "3s", "--agent", `${STUBBORN} ${work}`]);
    const id = await create(one);
    const run = await prompt(one, id, "go");
    await until("the grandchild writes", () => sizeOf(join(work, "ticks")) > 0, { log: () => one.log });
    const pids = JSON.parse(readFileSync(join(work, "pids"), "utf8")) as number[];

    await one.stop();
    for (const pid of pids) await until(`process ${pid} is gone`, () => isDead(pid));
    one.cont();
    const failed = await run.next("failed").catch((error: Error) => {
      throw new Error(`${error.message}\n${one.log}`);
    });
    expect(failed.data.reason).toBe("validity");
    await run.rest();
    expect((await call("GET", sessionUrl(one, id))).body.state).toBe("idle");
    expect((await eventsOf(one, id)).at(-1)).toMatchObject({ type: "failed", reason: "validity" });
    await expectAccepted(storeDir, id);
  });
});

function start(name: string, storeDir: string, flags: readonly string[] = []): Promise<ServerProcess> {
  return ServerProcess.start(["--store-dir", storeDir, ...flags], { history: { harness, name } });
}

/** Shows the judge the log of a session that nobody drives any more. */
async function readLog(storeDir: string, id: string): Promise<void> {
  await using store = new JsonlSessionStore({ directory: storeDir });
  const { events } = await store.read(id, { limit: 1_000 });
  harness.log(
    id,
    events.map(({ seq, token }) => ({ seq, token })),
  );
}

/** What has happened is without fault, and what is left of it complete. */
async function expectAccepted(storeDir: string, id: string): Promise<void> {
  await readLog(storeDir, id);
  expect(harness.findings()).toEqual([]);
  expect(harness.judge().counts.acknowledged).toBeGreaterThan(0);
}

/** The events of each run but its output. */
async function runsIn(server: ServerProcess, id: string): Promise<string[][]> {
  const runs = new Map<string, string[]>();
  for (const { runId, type } of await eventsOf(server, id)) {
    if (type !== "output") runs.set(runId, [...(runs.get(runId) ?? []), type]);
  }
  return [...runs.values()];
}
