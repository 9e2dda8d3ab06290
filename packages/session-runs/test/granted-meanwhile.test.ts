/**
 * What comes while a waiter is being granted its session. The session is given back, and some turns of the microtask queue later
 * something else happens: every number of turns from none to more than a hand-over takes, so every place between two steps of
 * it. Whatever comes first, the waiter either runs or is refused, never both and never neither, nobody else runs beside it,
 * and the session is free afterwards.
 */

import { isLeaseAborted } from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import { DrainError, RunCancelledError, SessionBusyError, type SessionRuns } from "../src/index.js";
import { latch, rejection, Stage } from "./stage.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

/** Turns that no hand-over in memory takes. */
const TURNS = 60;

type Meanwhile = Readonly<{
  what: string;
  happens: (scene: Scene) => void;
  refused: (error: unknown) => boolean;
}>;

type Scene = Readonly<{ waiter: SessionRuns; client: AbortController }>;

const MEANWHILE: readonly Meanwhile[] = [
  {
    what: "its caller goes away",
    happens: ({ client }) => client.abort("gone"),
    refused: isLeaseAborted,
  },
  {
    what: "it is cancelled",
    happens: ({ waiter }) => void waiter.cancel("s", { runId: "waiter" }),
    refused: (error) => error instanceof RunCancelledError,
  },
  {
    what: "its process drains",
    happens: ({ waiter }) => void waiter.drain(60_000),
    refused: (error) => error instanceof DrainError,
  },
];

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}

describe.each(["here", "elsewhere"])("with the holder %s", (place) => {
  it.each(MEANWHILE)("contract runs 2: nothing is lost or doubled when $what", async ({ happens, refused }) => {
    const ends = new Set<string>();
    for (let count = 0; count <= TURNS; count += 1) {
      const stage = new Stage({ reportsExpiry: true });
      // Nothing is left to chance, so nothing waits for a timer.
      const waiter = stage.server({ random: () => 0 });
      const holder = place === "here" ? waiter : stage.server();
      const client = new AbortController();
      const done = latch();
      let inside = 0;
      const work = async (until: Promise<unknown>): Promise<string> => {
        inside += 1;
        expect(inside).toBe(1);
        await until;
        inside -= 1;
        return "ran";
      };
      const first = holder.run("s", {}, () => work(done.promise));
      await stage.clock.settle();
      const options = { onBusy: "wait", waitMs: 10_000, signal: client.signal, runId: "waiter" } as const;
      const outcome = waiter.run("s", options, () => work(turns(3))).catch((error: unknown) => error);
      await stage.clock.advance(1_000);
      done.open();
      await turns(count);
      happens({ waiter, client });
      await first;
      await stage.clock.advance(1_000);
      const ended = await outcome;
      expect(ended === "ran" || refused(ended)).toBe(true);
      ends.add(ended === "ran" ? "ran" : "refused");
      expect([...waiter.active(), ...holder.active()]).toEqual([]);
      expect(await stage.authority.inspect("s")).toBeUndefined();
      expect(await stage.server().run("s", {}, () => "next")).toBe("next");
    }
    // The sweep covers the whole of the hand-over only if it has seen both ends of it.
    expect(ends).toEqual(new Set(["refused", "ran"]));
  });
});

describe("at the very instant at which the wait is over", () => {
  it("who is called first runs, and who gives up first is refused", async () => {
    for (const opensFirst of [true, false]) {
      const stage = new Stage();
      const runs = stage.server();
      const done = latch();
      const first = runs.run("s", {}, () => done.promise);
      if (opensFirst) stage.clock.schedule(() => done.open(), 10_000);
      const second = runs.run("s", { onBusy: "wait", waitMs: 10_000 }, () => "ran");
      if (!opensFirst) stage.clock.schedule(() => done.open(), 10_000);
      const refused = opensFirst ? undefined : rejection(second);
      await stage.clock.advance(10_000);
      await first;
      if (opensFirst) expect(await second).toBe("ran");
      expect(await refused).toEqual(opensFirst ? undefined : expect.any(SessionBusyError));
      expect(runs.active()).toEqual([]);
    }
  });
});
