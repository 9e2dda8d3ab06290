/** What a server of one's own does when it embeds session-runs, whatever framework it is built on. For `test/server.test.ts` of each. */

import { JsonlSessionStore } from "@leasehold/session-store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AtEnd, ExampleProcess, post, scratch, until } from "./example-process.js";

/** A turn of a minute: it ends because something ends it. */
const LONG = "word ".repeat(3_000);

export interface Pair {
  one: ExampleProcess;
  other: ExampleProcess;
  store: JsonlSessionStore;
}

/** Two processes of `node ARGS` on one directory, for all tests of a file. Filled in before the first. */
export function startPair(args: readonly string[], { cwd, env }: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Pair {
  const cleanups: (() => Promise<void>)[] = [];
  const pair = {} as Pair;
  beforeAll(async () => {
    const atEnd: AtEnd = (clean) => void cleanups.unshift(clean);
    const DATA = await scratch(atEnd);
    const start = () => ExampleProcess.start(args, { cwd, env: { ...env, DATA, PORT: "0" }, atEnd });
    [pair.one, pair.other] = await Promise.all([start(), start()]);
    pair.store = new JsonlSessionStore({ directory: `${DATA}/sessions` });
    atEnd(() => pair.store.close());
  }, 60_000);
  afterAll(async () => {
    for (const clean of cleanups) await clean();
  });
  return pair;
}

/** Kept, read or not: one that is collected hangs up, and a turn may end with its client. */
const answers: Response[] = [];

export async function turn(process: ExampleProcess, id: string, body: unknown): Promise<Response> {
  const answer = await post(`${process.url}/sessions/${id}/turns`, body);
  answers.push(answer);
  return answer;
}

const stop = (process: ExampleProcess, id: string) => post(`${process.url}/sessions/${id}/stop`);

/** Resolves when the newest event of the session is this one. */
export async function last({ store }: Pair, id: string, type: string, data?: string): Promise<void> {
  await until(`${type} ${data ?? ""}`, async () => {
    if ((await store.highest(id)) === undefined) return false;
    const { lastSeq } = await store.summary(id);
    const [event] = (await store.read(id, { after: Math.max(0, lastSeq - 1) })).events;
    return event?.type === type && event.data === data;
  });
}

export function behavesAsAServerOfYourOwn(pair: Pair): void {
  describe("contract runs 2: two processes", { timeout: 60_000 }, () => {
    it("refuse the second request, here and elsewhere, with a time to come back", async () => {
      expect((await turn(pair.one, "busy", { prompt: LONG })).ok).toBe(true);
      for (const [process, code] of [
        [pair.one, "session_busy"],
        [pair.other, "session_leased_elsewhere"],
      ] as const) {
        const refused = await turn(process, "busy", { prompt: "me too" });
        expect(refused.status).toBe(409);
        expect(await refused.json()).toMatchObject({ code });
        expect(refused.headers.get("retry-after")).toMatch(/^[1-5]$/);
      }
    });

    it("stop each other's turns, and have nothing to stop after that", async () => {
      await turn(pair.one, "stopped", { prompt: LONG });
      const stopped = await stop(pair.other, "stopped");
      expect(stopped.status).toBe(202);
      expect(await stopped.json()).toEqual({ outcome: "asked" });
      await last(pair, "stopped", "stopped", "release_requested");
      const nothing = await until("the lease is back", async () => {
        const again = await stop(pair.other, "stopped");
        return again.status === 409 && again;
      });
      expect(await nothing.json()).toEqual({ outcome: "none" });
    });

    it("stop their own", async () => {
      await turn(pair.one, "own", { prompt: LONG });
      expect(await (await stop(pair.one, "own")).json()).toEqual({ outcome: "here" });
      await last(pair, "own", "stopped", "run_cancelled");
    });

    it("hand a session over to who interrupts", async () => {
      await turn(pair.one, "wanted", { prompt: LONG });
      expect((await turn(pair.other, "wanted", { prompt: "now me", onBusy: "interrupt" })).ok).toBe(true);
      await last(pair, "wanted", "finished");
    });

    it.each([["{"], [{}], [{ prompt: {} }], [{ prompt: "a", onBusy: "whatever" }]])(
      "refuse %j as the client's mistake",
      async (body) => {
        expect((await turn(pair.one, "mistake", body)).status).toBe(400);
      },
    );
  });
}

/** Where the answer to a turn is the turn. */
export function streamsToItsClient(pair: Pair): void {
  it("streams what the log gets", async () => {
    const answer = await turn(pair.one, "streamed", { prompt: "hello there" });
    const lines = (await answer.text()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: "said", data: "After 0 events:" },
      { type: "said", data: "hello" },
      { type: "said", data: "there" },
      { type: "finished" },
    ]);
  });

  it("ends a turn with its client", async () => {
    const answer = await turn(pair.one, "left", { prompt: LONG });
    await answer.body?.cancel();
    await last(pair, "left", "stopped", "run_cancelled");
  });
}

/** The last tests of a file: they leave no process of the pair. `exitCode`: of one that was told to end. */
export function endsAsAServerOfYourOwn(pair: Pair, exitCode = 0): void {
  describe("contract runs 9: of two processes", { timeout: 60_000 }, () => {
    it("one goes on where the other was killed", async () => {
      await turn(pair.one, "orphaned", { prompt: LONG });
      await last(pair, "orphaned", "said", "word");
      pair.one.signal("SIGKILL");
      await pair.one.exited;
      expect((await turn(pair.other, "orphaned", { prompt: "on we go" })).ok).toBe(true);
      await last(pair, "orphaned", "finished");
    });

    it("the last lets its turn finish when it is told to end", async () => {
      await turn(pair.other, "ending", { prompt: "a word or two ".repeat(10) });
      pair.other.signal("SIGTERM");
      await last(pair, "ending", "finished");
      expect(await pair.other.exited).toEqual([exitCode, null]);
    });
  });
}
