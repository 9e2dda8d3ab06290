/** A run started on one server, followed and replayed from another. Contract server: events; contract server 4. */

import { describe, expect, it } from "vitest";
import { call, create, eventsOf, follow, prompt, sessionUrl } from "./client.js";
import { AGENT, sharedPair, startPair } from "./pair.js";

const TIMEOUT = 60_000;
const shared = sharedPair();

describe("contract server 4: a run is followed from any server", { timeout: TIMEOUT }, () => {
  it("by the other, as it goes on, to its end, whoever else has left", async () => {
    const { one, other } = shared;
    const id = await create(one);
    const run = await prompt(one, id, "say a\nsay b\nwait");
    await run.next("output");
    const here = await follow(one, id);
    const there = await follow(other, id);
    expect((await there.next("started")).data).toMatchObject({ prompt: "say a\nsay b\nwait" });
    await there.next("output");
    run.hangUp();
    expect((await call("POST", sessionUrl(one, id, "/cancel"))).status).toBe(202);
    const seen = await there.rest();
    expect(seen.map(({ id: seq, data }) => [seq, data.type, data.text])).toEqual([
      ["1", "started", undefined],
      ["2", "output", "a"],
      ["3", "output", "b"],
      ["4", "cancelled", undefined],
    ]);
    expect(await here.rest()).toEqual(seen);
    expect(seen.map(({ data }) => data)).toEqual(await eventsOf(other, id));
  });

  it("delivers an event to a follower on another server within 300 ms", async () => {
    const { one, other } = shared;
    const id = await create(one);
    await (await prompt(one, id, "clock 8")).next("started");
    const there = await follow(other, id);
    const delays: number[] = [];
    for (let i = 0; i < 8; i++) {
      const { data } = await there.next("output");
      delays.push(Date.now() - Number(data.text));
    }
    // The clock of one host, from the moment the agent speaks: through its pipe, the log, and the other server.
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(delays.toSorted((a, b) => a - b)[4]).toBeLessThan(300);
    expect((await there.rest()).at(-1)?.data.type).toBe("finished");
  });

  it("from where a client had come to, as browsers do it", async () => {
    const { one, other } = shared;
    const id = await create(one);
    await (await prompt(one, id, "say a\nsay b\nsay c")).rest();
    const again = await follow(other, id, "after=1", { "last-event-id": "3" });
    expect((await again.rest()).map((event) => event.id)).toEqual(["4", "5"]);
    const byAccept = await fetch(sessionUrl(other, id, "/events"), { headers: { accept: "text/event-stream" } });
    expect(byAccept.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect((await byAccept.text()).match(/^id: /gm)).toHaveLength(5);
    const byHeader = await call("GET", sessionUrl(other, id, "/events"), undefined, { "last-event-id": "4" });
    expect(byHeader.body).toMatch(/^id: 5\nevent: finished\n/);
    // Nothing is left and nothing runs: a browser that is told so does not come again.
    const over = await call("GET", sessionUrl(other, id, "/events"), undefined, { "last-event-id": "5" });
    expect(over).toMatchObject({ status: 204, body: undefined });
    // What was seen is of another log: this one is told from its start.
    expect((await (await follow(other, id, "after=77")).rest()).map((event) => event.id)).toHaveLength(5);
    const empty = await create(one);
    expect((await call("GET", sessionUrl(other, empty, "/events?follow=1"))).status).toBe(204);
  });

  it("ends with lost when the writer is killed, as soon as it is known; the next holder's failed comes first", async () => {
    const { one, other } = await startPair(["--session-lease-ttl", "1h", "--agent", AGENT]);
    const id = await create(one);
    await (await prompt(one, id, "say a\nwait")).next("output");
    const there = await follow(other, id);
    await there.next("output");
    await one.kill();
    expect((await there.next("lost")).data).toMatchObject({ reason: "unheld", runId: there.seen[0]?.data.runId });
    expect(there.seen.at(-1)?.id).toBeUndefined();
    expect(await there.rest()).toHaveLength(3);
    expect((await call("GET", sessionUrl(other, id))).body.state).toBe("idle");
    expect(await call("POST", sessionUrl(other, id, "/cancel"))).toMatchObject({
      status: 409,
      body: { code: "no_active_run" },
    });

    const next = await prompt(other, id, "say b");
    expect((await next.next("started")).data.recovered).toBe(true);
    await next.rest();
    const replayed = await (await follow(other, id)).rest();
    expect(replayed.map(({ data }) => data.type)).toEqual([
      "started",
      "output",
      "failed",
      "started",
      "output",
      "finished",
    ]);
    expect(replayed[2]?.data).toMatchObject({ reason: "abandoned", recovered: true });
  });

  it("is refused where it makes no sense", async () => {
    const { one } = shared;
    const id = await create(one);
    for (const [path, headers, sentence] of [
      ["/events?follow=yes", {}, /follow must be 1/],
      ["/events?follow=1&limit=3", {}, /limit is for pages/],
      ["/events", { "last-event-id": "x" }, /Last-Event-ID must be the id of an event/],
    ] as const) {
      const refused = await call("GET", sessionUrl(one, id, path), undefined, headers);
      expect(refused).toMatchObject({ status: 400, body: { message: expect.stringMatching(sentence) } });
    }
    expect((await call("GET", sessionUrl(one, "none", "/events?follow=1"))).status).toBe(404);
    expect((await call("HEAD", sessionUrl(one, id, "/events?follow=1"))).status).toBe(404);
    const page = await call("GET", sessionUrl(one, id, "/events?follow=0"), undefined, { accept: "text/event-stream" });
    expect(page.body).toEqual({ events: [] });
  });

  it("stays when the server drains, until the run is over", async () => {
    const { one, other } = await startPair();
    const id = await create(one);
    await (await prompt(one, id, "background 1\nsay a")).next("output");
    const [here, there] = [await follow(one, id), await follow(other, id)];
    await here.next("output");
    one.terminate();
    expect((await here.next("finished")).data.exitCode).toBe(0);
    expect((await there.next("finished")).data.exitCode).toBe(0);
    expect(await one.exited).toMatchObject({ code: 0 });
  });
});
