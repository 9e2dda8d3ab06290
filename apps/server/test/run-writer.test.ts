import { FakeClock } from "@leasehold/conformance";
import { LeaseHeldError, LeaseUnavailableError } from "@leasehold/session-lease";
import { MemorySessionStore } from "@leasehold/session-store";
import { expect, it } from "vitest";
import { isLoss, RunWriter } from "../src/run/run-writer.js";

/** A run whose standing the test decides. */
function runThat(answers: { refuse?: Error | undefined }) {
  return {
    sessionId: "s",
    assertHeld: () => {
      if (answers.refuse !== undefined) throw answers.refuse;
    },
  };
}

async function sessionStore(): Promise<MemorySessionStore> {
  const store = new MemorySessionStore();
  await store.create("s", 1n);
  return store;
}

const doubt = new LeaseUnavailableError("in doubt");
const lost = new LeaseHeldError("gone", { reason: "taken" });

it("holds an event back while the lease is in doubt, and writes it when it is not", async () => {
  const [clock, store] = [new FakeClock(), await sessionStore()];
  const standing: { refuse?: Error | undefined } = { refuse: doubt };
  const writing = new RunWriter(runThat(standing), 2n, store, clock).write("r", "output", { text: "x" });
  await clock.advance(4_000);
  expect((await store.read("s")).events).toEqual([]);
  standing.refuse = undefined;
  await clock.advance(100);
  expect(await writing).toMatchObject({ seq: 1, token: 2n, runId: "r", data: { text: "x" } });
});

it("drops it when the doubt ends in a loss", async () => {
  const [clock, store] = [new FakeClock(), await sessionStore()];
  const standing: { refuse?: Error | undefined } = { refuse: doubt };
  const writing = new RunWriter(runThat(standing), 2n, store, clock).write("r", "output", {});
  const refusal = expect(writing).rejects.toSatisfy(isLoss);
  await clock.advance(100);
  standing.refuse = lost;
  await clock.advance(100);
  await refusal;
  expect((await store.read("s")).events).toEqual([]);
});

it("is refused by the store, as a loss, when it believes that it holds and does not", async () => {
  const store = await sessionStore();
  const writer = new RunWriter(runThat({}), 2n, store, new FakeClock());
  await store.open("s", 3n);
  await expect(writer.write("r", "output", {})).rejects.toSatisfy(isLoss);
  expect((await store.read("s")).events).toEqual([]);
  expect(store.stats().staleRefused).toBe(1);
});
