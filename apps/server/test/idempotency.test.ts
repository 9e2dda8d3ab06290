/** The same Idempotency-Key is the same run: at any server, after any accident. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, create, eventsOf, follow, prompt, sessionUrl } from "./client.js";
import { AGENT, sharedPair, startPair } from "./pair.js";
import { ServerProcess, scratch } from "./server-process.js";

const TIMEOUT = 60_000;
const shared = sharedPair();

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

describe("contract server, Idempotency-Key: a request that is sent again", { timeout: TIMEOUT }, () => {
  it("gets the stream of its run from the start, while it runs and when it is over, from either server", async () => {
    const { one, other } = shared;
    const id = await create(one);
    const first = await prompt(one, id, "say a\nwait", keyed("k"));
    await first.next("output");
    expect(first.response.headers.get("idempotent-replayed")).toBeNull();
    const again = await Promise.all([one, other].map((server) => prompt(server, id, "say a\nwait", keyed("k"))));
    for (const stream of again) {
      expect(stream.response.headers.get("idempotent-replayed")).toBe("true");
      await stream.next("output");
    }
    await call("POST", sessionUrl(one, id, "/cancel"));
    const whole = await first.rest();
    expect(whole.at(-1)?.data.type).toBe("cancelled");
    for (const stream of again) expect(await stream.rest()).toEqual(whole);
    await (await prompt(other, id, "say between")).rest();
    expect(await (await prompt(other, id, "say a\nwait", keyed("k"))).rest()).toEqual(whole);
    expect((await call("GET", sessionUrl(one, id))).body.turns).toBe(2);
    expect(JSON.stringify(await eventsOf(one, id))).not.toContain('"k"');
  });

  it("ends with `lost` when the end of its run cannot be read any more, and later runs have come", async () => {
    const storeDir = await scratch();
    const before = await ServerProcess.start(["--store-dir", storeDir]);
    const id = await create(before);
    await (await prompt(before, id, "a", keyed("k"))).rest();
    await (await prompt(before, id, "b")).rest();
    before.terminate();
    await before.exited;
    const names = (await readdir(storeDir, { recursive: true })).filter((name) => name.endsWith(".jsonl"));
    for (const name of names) {
      const text = await readFile(join(storeDir, name), "utf8");
      await writeFile(join(storeDir, name), text.replace('"type":"finished"', '"type":finished"'));
    }
    const after = await ServerProcess.start(["--store-dir", storeDir]);
    const told = await (await prompt(after, id, "a", keyed("k"))).rest();
    expect(told.map(({ data }) => data.type)).toEqual(["started", "output", "lost"]);
  });

  it("with another body is refused: 422", async () => {
    const { one, other } = shared;
    const id = await create(one);
    await (await prompt(one, id, "say a", keyed("k"))).rest();
    for (const server of [one, other]) {
      const answer = await call("POST", sessionUrl(server, id, "/prompt"), { prompt: "b" }, { "idempotency-key": "k" });
      expect(answer).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
    }
    const long = await call(
      "POST",
      sessionUrl(one, id, "/prompt"),
      { prompt: "b" },
      { "idempotency-key": "k".repeat(129) },
    );
    expect(long).toMatchObject({ status: 400, body: { message: expect.stringMatching(/1 to 128 bytes/) } });
  });

  it("at the same moment, to both servers and many times, is one run", async () => {
    const { one, other } = shared;
    const id = await create(one);
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, i) => prompt(i % 2 === 0 ? one : other, id, "say a", keyed("k"))),
    );
    const ends = await Promise.all(streams.map(async (stream) => (await stream.rest()).map(({ data }) => data)));
    for (const end of ends) expect(end).toEqual(ends[0]);
    expect(ends[0]?.map(({ type }) => type)).toEqual(["started", "output", "finished"]);
    expect((await call("GET", sessionUrl(one, id))).body.turns).toBe(1);
  });

  it("leaves its key free when it was refused", async () => {
    const { one, other } = shared;
    const id = await create(one);
    await (await prompt(one, id, "wait")).next("started");
    const refused = await call(
      "POST",
      sessionUrl(other, id, "/prompt"),
      { prompt: "say a" },
      { "idempotency-key": "k" },
    );
    expect(refused).toMatchObject({ status: 409, body: { code: "session_leased_elsewhere" } });
    await call("POST", sessionUrl(one, id, "/cancel"));
    const stream = await prompt(other, id, "say a", { ...keyed("k"), body: { on_busy: "wait", wait_ms: 10_000 } });
    await stream.next("finished");
    expect(stream.response.headers.get("idempotent-replayed")).toBeNull();
  });

  it("after SIGKILL gets the same run, recovered: what it had said, and that it failed; it is not run again", async () => {
    const { one, other } = await startPair(["--session-lease-ttl", "1h", "--agent", AGENT]);
    const id = await create(one);
    const first = await prompt(one, id, "say a\nwait", keyed("k"));
    const { runId } = (await first.next("output")).data;
    await one.kill();
    const again = await (await prompt(other, id, "say a\nwait", keyed("k"))).rest();
    expect(again.map(({ data }) => [data.type, data.runId])).toEqual([
      ["started", runId],
      ["output", runId],
      ["failed", runId],
    ]);
    expect(again.at(-1)?.data).toMatchObject({ reason: "abandoned", recovered: true });
    expect(BigInt(again.at(-1)?.data.token ?? 0)).toBeGreaterThan(BigInt(again[0]?.data.token ?? 0));
    // And after a takeover by somebody else's prompt, the same once more.
    await (await prompt(other, id, "say b")).rest();
    expect(await (await prompt(other, id, "say a\nwait", keyed("k"))).rest()).toEqual(again);
    expect(await (await follow(other, id)).rest()).toHaveLength(6);
  });

  it("is another request in a session that was deleted and created anew", async () => {
    const { one } = shared;
    const id = await create(one);
    await (await prompt(one, id, "say a", keyed("k"))).rest();
    await call("DELETE", sessionUrl(one, id));
    await create(one, id);
    const anew = await prompt(one, id, "say b", keyed("k"));
    expect((await anew.next("output")).data.text).toBe("b");
  });
});
