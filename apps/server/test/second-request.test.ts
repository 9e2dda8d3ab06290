/** What the second request gets, and the stop button: the same on every server. B63, B73, B76. */

import { readFileSync } from "node:fs";
import { openLease } from "@leasehold/backends";
import { supports } from "@leasehold/session-lease";
import { describe, expect, it, onTestFinished } from "vitest";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { AGENT, type Pair, sharedPair, startPair } from "./pair.js";
import { isDead, until } from "./processes.js";
import { fixture, ServerProcess, scratch } from "./server-process.js";

const TIMEOUT = 60_000;
const shared = sharedPair(["--agent", AGENT, "--advertise-url", "http://10.0.0.7:8080"]);

const onBusy = (on_busy: string, wait_ms = 30_000) => ({ body: { on_busy, wait_ms } });

describe.each(["the same server", "the other server"])(
  "contract runs 2, B76: a second request at %s",
  { timeout: TIMEOUT },
  (where) => {
    const second = ({ one, other }: Pair): ServerProcess => (where === "the same server" ? one : other);

    it("waits, if it says so, and runs when the first is over", async () => {
      const id = await create(shared.one);
      const first = await prompt(shared.one, id, "say a\nwait");
      await first.next("output");
      const waiting = prompt(second(shared), id, "say b", onBusy("wait"));
      await call("POST", sessionUrl(shared.one, id, "/cancel"));
      await (await waiting).next("finished");
      expect((await eventsOf(shared.one, id)).map(({ type }) => type)).toEqual([
        "started",
        "output",
        "cancelled",
        "started",
        "output",
        "finished",
      ]);
    });

    it("waits no longer than it said", async () => {
      const id = await create(shared.one);
      await (await prompt(shared.one, id, "wait")).next("started");
      const body = { prompt: "say b", on_busy: "wait", wait_ms: 300 };
      const refused = await call("POST", sessionUrl(second(shared), id, "/prompt"), body);
      expect(refused).toMatchObject({ status: 409, body: { code: /session_(busy|leased_elsewhere)/ } });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    });

    it("interrupts, if it says so: the first writes its last event and lets go, within 1 s and the agent's own time", async () => {
      const id = await create(shared.one);
      const first = await prompt(shared.one, id, "say a\nwait");
      await first.next("output");
      const asked = performance.now();
      const run = await prompt(second(shared), id, "say b", onBusy("interrupt"));
      await run.next("started");
      // Generous, for a busy machine: still, the holder did not wait for its renewal, which comes every ten seconds.
      expect(performance.now() - asked).toBeLessThan(5_000);
      expect((await first.next("cancelled")).data).toMatchObject({ asked: true });
      await run.next("finished");
      const tokens = (await eventsOf(shared.one, id)).map(({ token }) => BigInt(token));
      expect(tokens).toEqual(tokens.toSorted((a, b) => Number(a - b)));
    });

    it("is given up when its client goes away before its turn", async () => {
      const id = await create(shared.one);
      const first = await prompt(shared.one, id, "wait");
      await first.next("started");
      const leaving = new AbortController();
      const left = fetch(sessionUrl(second(shared), id, "/prompt"), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ prompt: "say never", on_busy: "wait", wait_ms: 60_000 }),
        signal: leaving.signal,
      });
      await until("it waits", async () =>
        /^leasehold_runs_waiting 1$/m.test((await call("GET", `${second(shared).url}/metrics`)).body),
      );
      leaving.abort();
      await expect(left).rejects.toThrow();
      await until("it waits no more", async () =>
        /^leasehold_runs_waiting 0$/m.test((await call("GET", `${second(shared).url}/metrics`)).body),
      );
      await call("POST", sessionUrl(shared.one, id, "/cancel"));
      await first.rest();
      await (await prompt(shared.other, id, "say b", onBusy("wait"))).rest();
      expect(JSON.stringify(await eventsOf(shared.one, id))).not.toContain("never");
    });
  },
);

describe("contract runs 2: the stop button", { timeout: TIMEOUT }, () => {
  it("works at the other server, within 1 s where the backend notifies, and the agent's own time", async () => {
    const { one, other } = shared;
    const id = await create(one);
    const run = await prompt(one, id, "say a\nwait");
    await run.next("output");
    const pressed = performance.now();
    expect(await call("POST", sessionUrl(other, id, "/cancel"))).toMatchObject({ status: 202, body: { id } });
    const { data } = await run.next("cancelled");
    expect(data).toMatchObject({ signal: "SIGTERM" });
    expect(data).not.toHaveProperty("asked");
    expect(performance.now() - pressed).toBeLessThan(5_000);
    await until("it is over", async () => (await call("GET", sessionUrl(other, id))).body.state === "idle");
    for (const server of [one, other]) {
      expect(await call("POST", sessionUrl(server, id, "/cancel"))).toMatchObject({
        status: 409,
        body: { code: "no_active_run" },
      });
    }
  });

  it("works for an agent that ignores it, in the time that it has; nothing of the agent is left", async () => {
    const work = await scratch();
    const { one, other } = await startPair(["--agent", `node ${fixture("stubborn-agent.mjs")} ${work}`]);
    const id = await create(one);
    const run = await prompt(one, id, "go");
    // "alive before", and then that it has its grandchild.
    for (let i = 0; i < 2; i++) await run.next("output");
    const pids = JSON.parse(readFileSync(`${work}/pids`, "utf8")) as number[];
    await call("POST", sessionUrl(other, id, "/cancel"));
    expect((await run.next("cancelled")).data).toMatchObject({ signal: "SIGKILL" });
    expect(pids.map(isDead)).toEqual([true, true]);
  });
});

describe("operators", { timeout: TIMEOUT }, () => {
  it("see the runs that a server holds, how old they are, and when they last said something", async () => {
    const { one, other } = shared;
    const id = await create(one);
    const run = await prompt(one, id, "say a\nwait");
    const { runId, token } = (await run.next("output")).data;
    const { body } = await call("GET", `${one.url}/v1/runs`);
    const [shown] = body.runs.filter((each: { sessionId: string }) => each.sessionId === id);
    expect(shown).toMatchObject({ sessionId: id, runId, token, state: "running" });
    const { startedAt, lastOutputAt, ageMs } = shown;
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(Date.parse(lastOutputAt)).toBeGreaterThanOrEqual(Date.parse(startedAt));
    const elsewhere = (await call("GET", `${other.url}/v1/runs`)).body.runs;
    expect(elsewhere.map((each: { sessionId: string }) => each.sessionId)).not.toContain(id);
    await call("POST", sessionUrl(one, id, "/cancel"));
  });

  it("find the URL of the server beside its leases", async () => {
    const { one } = shared;
    const id = await create(one);
    await (await prompt(one, id, "wait")).next("started");
    const { lease } = await openLease(`file:${one.storeDir}/.session-leases`);
    onTestFinished(() => lease?.close());
    if (lease === undefined || !supports(lease, "inspect")) throw new Error("no lease to look at");
    expect((await lease.inspect(id))?.metadata).toMatchObject({ advertiseUrl: "http://10.0.0.7:8080" });
    await call("POST", sessionUrl(one, id, "/cancel"));
  });
});

describe("a run that is silent", { timeout: TIMEOUT }, () => {
  it("is stopped when it has been so for too long, and not before", async () => {
    const flags = ["--store-dir", await scratch(), "--agent", AGENT, "--run-idle-timeout", "3s"];
    const server = await ServerProcess.start(flags);
    const id = await create(server);
    expect((await (await prompt(server, id, "clock 35")).rest()).at(-1)?.data.type).toBe("finished");
    const events = await (await prompt(server, id, "say a\nwait")).rest();
    expect(events.at(-1)?.data).toMatchObject({ type: "failed", reason: "idle" });
  });
});
