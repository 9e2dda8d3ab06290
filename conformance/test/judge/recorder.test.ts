/** A recorder writes down everything and changes nothing; what a killed process had recorded is there. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type FullSessionLease,
  forwardLease,
  LeaseInvalidError,
  LeaseUnavailableError,
  NO_CAPABILITIES,
} from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, transitionLease } from "../../src/index.js";
import {
  FileSink,
  type History,
  judge,
  judgementToText,
  MemorySink,
  Recorder,
  readHistory,
} from "../../src/judge/index.js";

function setUp(overrides: Partial<FullSessionLease> = {}) {
  const clock = new FakeClock({ wall: 5000, monotonic: 0 });
  const sink = new MemorySink();
  const recorder = new Recorder({ sink, process: "p1", clock, authority: () => clock.wall() });
  const inner = forwardLease(transitionLease({ clock, ttl: 1000 }), overrides);
  recorder.meta({ ttl: 1000 });
  const history = (): History => readHistory([{ name: "memory", text: sink.text }]);
  return { clock, sink, recorder, inner, lease: recorder.lease(inner), history };
}

describe("a lease with a recorder", () => {
  test("answers as without it, and each answer stands in the history", async () => {
    const { clock, lease, recorder, history } = setUp();
    const held = await lease.acquire("s", "a", { metadata: { k: "v" } });
    expect(held).toMatchObject({ sessionId: "s", owner: "a", token: 5000n, expiry: 6000, ttl: 1000 });
    recorder.believe(held, 988);
    await expect(lease.acquire("s", "b")).rejects.toMatchObject({ code: "held", retryAfterMs: 1000 });
    expect(await lease.requestRelease("s", { by: "operator" })).toBe(true);
    await clock.advance(100);
    const renewed = await lease.renew(held);
    expect(renewed.releaseRequested).toMatchObject({ by: "operator" });
    recorder.believe(renewed, 1088);
    expect(await lease.inspect("s")).toMatchObject({ metadata: { k: "v" } });
    recorder.cease(renewed);
    const given = await lease.transfer(renewed, "c");
    await expect(lease.renew(held)).rejects.toMatchObject({ code: "held", reason: "taken" });
    expect(await lease.forceRelease("s", { expectedToken: given.token })).toBe(true);
    expect(await lease.release(given)).toBe("absent");
    expect(await lease.inspect("s")).toBeUndefined();

    const answers = history().calls.map(({ invoke, answer }) => `${invoke.op} ${answer.answer}`);
    expect(answers).toEqual([
      "acquire granted",
      "acquire held",
      "requestRelease done",
      "renew granted",
      "inspect seen",
      "transfer granted",
      "renew refused",
      "forceRelease done",
      "release absent",
      "inspect free",
    ]);
    const judgement = judge(history());
    expect(judgement.accepted, judgementToText(judgement)).toBe(true);
    expect(judgement.counts).toMatchObject({
      sessions: 1,
      calls: 10,
      grants: 3,
      takeovers: 1,
      renewals: 1,
      beliefs: 2,
    });
  });

  test.each([
    [new LeaseInvalidError("no"), "error"],
    [new LeaseUnavailableError("no"), "unknown"],
    [new Error("anything else"), "unknown"],
  ])("passes %s on and tells it as %s", async (error, answer) => {
    const { lease, history } = setUp({ acquire: () => Promise.reject(error) });
    await expect(lease.acquire("s", "a")).rejects.toBe(error);
    expect(history().calls.map((call) => call.answer.answer)).toEqual([answer]);
  });

  test("has the powers and the name of the one inside", () => {
    const { inner, lease } = setUp({ capabilities: NO_CAPABILITIES });
    expect(lease.capabilities).toBe(inner.capabilities);
    expect(lease.name).toBe(inner.name);
  });

  test("writes the question before it is answered", async () => {
    const { lease, history, inner } = setUp({ acquire: () => new Promise(() => undefined) });
    void lease.acquire("s", "a");
    expect(history().calls).toMatchObject([{ invoke: { op: "acquire", owner: "a" }, answer: { answer: "unknown" } }]);
    await inner.close();
  });
});

describe("a store with a recorder", () => {
  test("tells accepted, stale and unknown apart", async () => {
    const { recorder, history } = setUp();
    const asked = { session: "s", op: "append", token: 7n, write: "w" } as const;
    const isStale = (error: unknown): boolean => error === "stale";
    expect(await recorder.write(asked, async () => 3, { seq: (seq) => seq, isStale })).toBe(3);
    for (const reason of ["stale", "broken"]) {
      await expect(recorder.write(asked, () => Promise.reject(reason), { isStale })).rejects.toBe(reason);
    }
    recorder.log("s", [{ seq: 3, token: 7n, write: "w" }]);
    expect(history().writes.map(({ answer }) => answer)).toEqual([
      { answer: "accepted", seq: 3 },
      { answer: "stale" },
      { answer: "unknown", code: undefined },
    ]);
    expect(judge(history())).toMatchObject({ accepted: true, unread: [], counts: { writes: 3, acknowledged: 1 } });
  });
});

describe("real processes", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "leasehold-judge-"));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  test("killed in the middle of a call leave it without a return, and the files are one history", async () => {
    const fixture = fileURLToPath(new URL("fixtures/recording-holder.mjs", import.meta.url));
    const harness = join(directory, "harness.jsonl");
    const sink = new FileSink(harness);
    const recorder = new Recorder({ sink, process: "harness" });
    recorder.meta({ title: "two processes killed", ttl: 60_000 });
    const files = ["p1", "p2"].map((name) => join(directory, `${name}.jsonl`));
    await Promise.all(
      files.map(async (file, index) => {
        const name = `p${index + 1}`;
        const child = spawn(process.execPath, [fixture, name, `session-${index}`, file], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        const ended = once(child, "exit");
        await once(child.stdout, "data");
        const since = recorder.now();
        child.kill("SIGKILL");
        await ended;
        recorder.killed(name, since);
      }),
    );
    sink.close();
    const history = readHistory([harness, ...files].map((name) => ({ name, text: readFileSync(name, "utf8") })));
    const judgement = judge(history);
    expect(judgement.accepted, judgementToText(judgement)).toBe(true);
    expect(judgement.title).toBe("two processes killed");
    expect(judgement.counts).toMatchObject({
      sessions: 2,
      processes: 2,
      calls: 4,
      unknown: 2,
      grants: 2,
      beliefs: 2,
      kills: 2,
    });
    expect(history.events.map(({ at }) => at)).toEqual([...history.events.map(({ at }) => at)].sort((a, b) => a - b));
  });
});
