import { FakeClock } from "@leasehold/conformance";
import { LeashError } from "@leasehold/leash";
import { LeaseHeldError } from "@leasehold/session-lease";
import { SessionRuns } from "@leasehold/session-runs";
import {
  MemorySessionStore,
  type SessionEvent,
  type StoredEvent,
  StoreUnavailableError,
} from "@leasehold/session-store";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { Agent, AgentEnd, AgentRun } from "../src/agent/agent.js";
import { conductRun } from "../src/run/conduct-run.js";
import { RequestIndex } from "../src/run/request-index.js";
import type { RunNews } from "../src/run/run-events.js";

const log = pino({ level: "silent" });

/** An agent whose run is what the test makes of it. */
function agentThat(start: Agent["start"]): Agent {
  return { name: "test", ready: async () => {}, close: async () => {}, start };
}

/** A run of an agent that says these lines and ends well, unless it is stopped. */
function saying(...lines: string[]): AgentRun & { readonly stops: (number | undefined)[] } {
  const stops: (number | undefined)[] = [];
  return {
    stops,
    output: (async function* () {
      for (const text of lines) yield { text };
    })(),
    ended: Promise.resolve({ exitCode: 0, signal: null, by: "itself" }),
    extend: () => {},
    suspend: () => {},
    stop: async (graceMs) => {
      stops.push(graceMs);
    },
  };
}

async function conduct(agent: Agent, store: MemorySessionStore = new MemorySessionStore()) {
  await store.create("s", 0n);
  const told: RunNews[] = [];
  const clock = new FakeClock();
  const parts = { store, agent, clock, log, requests: new RequestIndex(store) };
  const outcome = new SessionRuns({ clock }).run("s", {}, (run) =>
    conductRun(run, { prompt: "go" }, parts, async (news) => void told.push(news)),
  );
  const settled = await outcome.then(
    (value) => ({ value }) as const,
    (error: unknown) => ({ error }) as const,
  );
  return { settled, told, events: (await store.read("s")).events };
}

it("leaves nothing in the log when the agent cannot be started", async () => {
  const missing = new LeashError("command-not-found", "no such command");
  const { settled, told, events } = await conduct(
    agentThat(async () => {
      throw missing;
    }),
  );
  expect(settled).toEqual({ error: missing });
  expect(told).toEqual([]);
  expect(events).toEqual([]);
});

it.each([
  ["expired", "validity"],
  ["unwatched", "unwatched"],
] as const)("ends in the log what was written down and then not let run: %s", async (code, reason) => {
  const { told, events } = await conduct(
    agentThat(async ({ onReady }) => {
      await onReady();
      throw new LeashError(code, "not let run");
    }),
  );
  expect(events).toMatchObject([{ type: "started" }, { type: "failed", data: { reason } }]);
  expect(told.map(({ seq }) => seq)).toEqual([1, 2]);
});

it("kills the agent when the log cannot be written, and tells who is connected", async () => {
  const full = new StoreUnavailableError("no space", "/store");
  class FullStore extends MemorySessionStore {
    override async append(id: string, token: bigint, event: SessionEvent): Promise<StoredEvent> {
      if (event.type === "output") throw full;
      return await super.append(id, token, event);
    }
  }
  const run = saying("a", "b");
  const { settled, told } = await conduct(
    agentThat(async ({ onReady }) => {
      await onReady();
      return run;
    }),
    new FullStore(),
  );
  expect(settled).toEqual({ error: full });
  expect(run.stops).toEqual([0]);
  expect(told.map(({ type }) => type)).toEqual(["started", "failed"]);
  expect(told[1]).toMatchObject({ body: { reason: "store" } });
  expect(told[1]?.seq).toBeUndefined();
});

it("tells a loss once, and writes nothing after it", async () => {
  const store = new MemorySessionStore();
  const run = saying("a", "b");
  const { settled, told, events } = await conduct(
    agentThat(async ({ onReady }) => {
      await onReady();
      // Somebody else has opened the session.
      await store.open("s", 9n);
      return run;
    }),
    store,
  );
  expect(settled).toMatchObject({ error: { code: "stale-token" } });
  expect(told.map(({ type }) => type)).toEqual(["started", "lease_lost"]);
  expect(told[1]?.body).toMatchObject({ reason: "taken", token: "0" });
  expect(run.stops).toEqual([0]);
  expect(events).toHaveLength(1);
});

it("gives an agent no time when the lease is lost", async () => {
  const lost = new LeaseHeldError("gone", { reason: "taken" });
  const aborter = new AbortController();
  const store = new MemorySessionStore();
  await store.create("s", 0n);
  const run = saying();
  const agent = agentThat(async ({ onReady }) => {
    await onReady();
    return run;
  });
  const told: RunNews[] = [];
  const clock = new FakeClock();
  const parts = { store, agent, clock, log, requests: new RequestIndex(store) };
  const conducted = new SessionRuns({ clock }).run("s", { signal: aborter.signal }, async (held) => {
    aborter.abort(lost);
    return await conductRun(held, { prompt: "go" }, parts, async (news) => void told.push(news));
  });
  await expect(conducted).rejects.toBe(lost);
  expect(told.map(({ type }) => type)).toEqual(["started", "lease_lost"]);
  expect((await store.read("s")).events.map(({ type }) => type)).toEqual(["started"]);
});

it("tells nothing after a loss, not even an event that was on its way to the log", async () => {
  const lost = new LeaseHeldError("gone", { reason: "taken" });
  const aborter = new AbortController();
  class LosingStore extends MemorySessionStore {
    override async append(id: string, token: bigint, event: SessionEvent): Promise<StoredEvent> {
      const stored = await super.append(id, token, event);
      // Written, and not yet answered.
      if (event.type === "output") aborter.abort(lost);
      return stored;
    }
  }
  const store = new LosingStore();
  await store.create("s", 0n);
  let end: (end: AgentEnd) => void = () => {};
  const run: AgentRun = {
    ...saying("a"),
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    stop: async () => end({ exitCode: null, signal: "SIGKILL", by: "itself" }),
  };
  const agent = agentThat(async ({ onReady }) => {
    await onReady();
    return run;
  });
  const told: RunNews[] = [];
  const clock = new FakeClock();
  const parts = { store, agent, clock, log, requests: new RequestIndex(store) };
  const conducted = new SessionRuns({ clock }).run("s", { signal: aborter.signal }, (held) =>
    conductRun(held, { prompt: "go" }, parts, async (news) => void told.push(news)),
  );
  await expect(conducted).rejects.toBe(lost);
  expect(told.map(({ type }) => type)).toEqual(["started", "lease_lost"]);
  expect((await store.read("s")).events.map(({ type }) => type)).toEqual(["started", "output"]);
});
