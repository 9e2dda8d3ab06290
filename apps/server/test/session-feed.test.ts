/** Following a session's log: what is sent, in which order, and when it ends. */

import { FakeClock } from "@leasehold/conformance";
import { MemorySessionStore, StoreUnavailableError } from "@leasehold/session-store";
import { expect, it } from "vitest";
import { Feeds } from "../src/follow/feeds.js";
import { type Followed, followLog } from "../src/follow/follow-log.js";
import type { EventStream } from "../src/http/event-stream.js";

/** A client that reads as fast as it is sent to, until it is told to lag. */
class Client {
  readonly #ended = new AbortController();
  readonly frames: string[] = [];
  behind: Promise<void> | undefined;
  #state: "waiting" | "open" | "over" = "waiting";
  #catchUp: () => void = () => {};

  get state() {
    return this.#state;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  open(): void {
    this.#state = "open";
  }

  async send(frame: Uint8Array): Promise<void> {
    if (this.#state === "open") this.frames.push(Buffer.from(frame).toString());
  }

  end(): void {
    this.#state = "over";
    this.#ended.abort(new Error("gone"));
  }

  lag(): void {
    this.behind = new Promise((resolve) => {
      this.#catchUp = resolve;
    });
  }

  catchUp(): void {
    this.behind = undefined;
    this.#catchUp();
  }

  /** "SEQ type" of everything sent. */
  get seen(): string[] {
    return this.frames.map((frame) =>
      [/^id: (\d+)$/m.exec(frame)?.[1], /^event: (\w+)$/m.exec(frame)?.[1]].filter(Boolean).join(" "),
    );
  }
}

async function session() {
  const clock = new FakeClock();
  const store = new MemorySessionStore({ clock });
  await store.create("s", 1n);
  let sayUnheld: () => void = () => {};
  let asked = 0;
  const feeds = new Feeds({
    store,
    clock,
    untilUnheld: (_, signal) => {
      asked += 1;
      return new Promise((resolve, reject) => {
        sayUnheld = resolve;
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const follow = (followed: Partial<Followed> = {}) => {
    const client = new Client();
    const over = feeds.use("s", (feed) =>
      followLog(feed, client as unknown as EventStream, { after: 0, runId: "r", ...followed }),
    );
    return { client, over };
  };
  const append = (type: string, runId = "r", token = 1n) => store.append("s", token, { runId, type });
  return { clock, store, feeds, follow, append, asked: () => asked, sayUnheld: () => sayUnheld() };
}

it("replays, goes on with what comes, and ends with the run", async () => {
  const { clock, follow, append } = await session();
  await append("started", "before");
  await append("finished", "before");
  await append("started");
  const { client, over } = follow();
  await clock.settle();
  expect(client.seen).toEqual(["1 started", "2 finished", "3 started"]);
  await append("output");
  await clock.settle();
  expect(client.seen.at(-1)).toBe("4 output");
  await append("finished");
  await append("started", "next");
  await over;
  expect(client.seen.slice(4)).toEqual(["5 finished"]);
  expect(client.state).toBe("over");
});

it("begins after what has been seen", async () => {
  const { follow, append } = await session();
  for (const type of ["started", "output", "output", "finished"]) await append(type);
  const { client, over } = follow({ after: 2 });
  await over;
  expect(client.seen).toEqual(["3 output", "4 finished"]);
});

it("waits for the run that is about to begin", async () => {
  const { clock, follow, append } = await session();
  const { client, over } = follow({ runId: undefined });
  await clock.settle();
  expect(client.state).toBe("open");
  for (const type of ["started", "cancelled"]) await append(type, "new");
  await over;
  expect(client.seen).toEqual(["1 started", "2 cancelled"]);
});

it("says lost when nobody holds the session and the run has no end", async () => {
  const { clock, follow, append, sayUnheld } = await session();
  await append("started");
  const { client, over } = follow();
  await clock.settle();
  sayUnheld();
  await over;
  expect(client.seen).toEqual(["1 started", "lost"]);
  expect(client.frames.at(-1)).toBe('event: lost\ndata: {"type":"lost","runId":"r","reason":"unheld"}\n\n');
});

it("does not say lost of a run whose end was written just before its holder let go", async () => {
  const { clock, follow, append, sayUnheld, store } = await session();
  await append("started");
  // A watch that tells nothing.
  store.watch = () => () => {};
  const { client, over } = follow();
  await clock.settle();
  await append("finished");
  sayUnheld();
  await over;
  expect(client.seen).toEqual(["1 started", "2 finished"]);
});

it("goes on over a takeover: it asks again when the log has grown since the question, whoever wrote", async () => {
  const { clock, follow, append, sayUnheld, asked } = await session();
  await append("started");
  const { client, over } = follow();
  await clock.settle();
  expect(asked()).toBe(1);
  await append("output");
  await clock.settle();
  sayUnheld();
  await clock.settle();
  expect({ asked: asked(), seen: client.seen }).toEqual({ asked: 2, seen: ["1 started", "2 output"] });
  await append("failed");
  await over;
  expect(client.seen.at(-1)).toBe("3 failed");
});

it("lets somebody recover the run instead, and goes on to the end that they write", async () => {
  const { clock, follow, append, sayUnheld } = await session();
  await append("started");
  const recover = async (): Promise<boolean> => {
    await append("failed", "r", 2n);
    return true;
  };
  const { client, over } = follow({ recover });
  await clock.settle();
  sayUnheld();
  await over;
  expect(client.seen).toEqual(["1 started", "2 failed"]);
});

it("says lost when the session is deleted, also if another has its name at once", async () => {
  const { clock, follow, append, store } = await session();
  await append("started");
  const { client, over } = follow();
  await clock.settle();
  await clock.advance(1);
  await store.delete("s", 2n);
  await store.create("s", 3n);
  await append("started", "other", 3n);
  await over;
  expect(client.frames.at(-1)).toContain('"reason":"deleted"');
  const again = follow({ runId: "other" });
  await append("finished", "other", 3n);
  await again.over;
  expect(again.client.seen).toEqual(["1 started", "2 finished"]);
});

it("ends when the client is gone, and leaves neither timer nor watch", async () => {
  const { clock, follow, append, feeds } = await session();
  await append("started");
  const [one, two] = [follow(), follow()];
  await clock.settle();
  expect(feeds.followers).toBe(2);
  one.client.end();
  await one.over;
  await append("output");
  await clock.settle();
  expect(two.client.seen).toEqual(["1 started", "2 output"]);
  two.client.end();
  await two.over;
  expect({ followers: feeds.followers, timers: clock.pending }).toEqual({ followers: 0, timers: 0 });
});

it("keeps nothing for a client that lags: it is told the rest from the log", async () => {
  const { clock, follow, append } = await session();
  await append("started");
  const { client, over } = follow();
  await clock.settle();
  client.lag();
  // More than a feed keeps.
  for (let i = 0; i < 1_000; i++) await append("output");
  await append("finished");
  await clock.settle();
  expect(client.seen).toEqual(["1 started", "2 output"]);
  client.catchUp();
  await over;
  expect(client.seen).toEqual([
    "1 started",
    ...Array.from({ length: 1_000 }, (_, i) => `${i + 2} output`),
    "1002 finished",
  ]);
});

it("reads a growing log once for all who follow it", async () => {
  const { clock, follow, append, store } = await session();
  await append("started");
  const all = Array.from({ length: 100 }, () => follow());
  await clock.settle();
  let reads = 0;
  const { read } = store;
  store.read = (...args) => {
    reads += 1;
    return read.apply(store, args);
  };
  await append("output");
  await append("finished");
  await Promise.all(all.map(({ over }) => over));
  expect(reads).toBeLessThanOrEqual(2);
  for (const { client } of all) expect(client.seen).toEqual(["1 started", "2 output", "3 finished"]);
});

it("polls where the host does not watch, and slowly beside a watch that says nothing", async () => {
  const { clock, follow, append, store } = await session();
  await append("started");
  store.watch = () => {
    throw new StoreUnavailableError("no more watches", "/s");
  };
  const unwatched = follow();
  await clock.settle();
  await append("output");
  await clock.advance(199);
  expect(unwatched.client.seen).toEqual(["1 started"]);
  await clock.advance(1);
  expect(unwatched.client.seen).toEqual(["1 started", "2 output"]);
  unwatched.client.end();
  await unwatched.over;

  store.watch = () => () => {};
  const silent = follow({ after: 2 });
  await clock.settle();
  await append("finished");
  await clock.advance(4_999);
  expect(silent.client.seen).toEqual([]);
  await clock.advance(1);
  await silent.over;
  expect(silent.client.seen).toEqual(["3 finished"]);
});

it("ends, with the error, when the log cannot be read", async () => {
  const { clock, follow, append, store } = await session();
  await append("started");
  const { client, over } = follow();
  const failed = expect(over).rejects.toMatchObject({ code: "unavailable" });
  await clock.settle();
  store.summary = async () => {
    throw new StoreUnavailableError("an I/O error", "/s");
  };
  await append("output");
  await failed;
  expect(client.state).toBe("over");
});

it.each([
  ["of a run that is not in the log", [] as const],
  ["of a run whose end is not in the log", ["started"] as const],
])("tries one recovery %s, and when that brings nothing says that it is lost", async (_, events) => {
  const { clock, follow, append, sayUnheld } = await session();
  for (const type of events) await append(type);
  let recoveries = 0;
  const recover = async () => {
    recoveries += 1;
    return true;
  };
  const { client, over } = follow({ recover });
  for (let round = 0; round < 3; round += 1) {
    await clock.settle();
    sayUnheld();
  }
  await over;
  expect(recoveries).toBe(1);
  expect(client.seen.at(-1)).toBe("lost");
});

it("takes no answer to a question that was asked before it came", async () => {
  const { clock, store, follow, append, asked, sayUnheld } = await session();
  await append("started");
  const first = follow();
  await clock.settle();
  const summary = store.summary.bind(store);
  let goOn: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  store.summary = async (id) => {
    await held;
    return await summary(id);
  };
  // The authority has answered, and the last look at the log is under way.
  sayUnheld();
  await clock.settle();
  const second = follow();
  await clock.settle();
  goOn();
  await first.over;
  await clock.settle();
  expect(first.client.seen).toEqual(["1 started", "lost"]);
  expect(second.client.seen).toEqual(["1 started"]);
  expect(asked()).toBe(2);
  sayUnheld();
  await second.over;
  expect(second.client.seen).toEqual(["1 started", "lost"]);
});

it("does not go on into the next run when the end of its own is missing", async () => {
  const { follow, append } = await session();
  await append("started");
  await append("started", "next");
  await append("finished", "next");
  const { client, over } = follow();
  await over;
  expect(client.seen).toEqual(["1 started", "lost"]);
});

it("misses no event, however writers and looks fall together", async () => {
  const { clock, follow, append } = await session();
  await append("started");
  const all = Array.from({ length: 20 }, (_, i) => follow({ after: i % 2 }));
  for (let i = 0; i < 500; i++) {
    const written = append("output");
    // Now and then a look has time to begin, or to end.
    if (i % 3 === 0) await Promise.resolve();
    if (i % 7 === 0) await written;
    if (i % 50 === 0) await clock.settle();
  }
  await append("finished");
  await Promise.all(all.map(({ over }) => over));
  for (const [index, { client }] of all.entries()) {
    const seqs = client.seen.map((line) => Number(line.split(" ")[0]));
    expect(seqs).toEqual(Array.from({ length: 502 - (index % 2) }, (_, i) => i + 1 + (index % 2)));
  }
});
