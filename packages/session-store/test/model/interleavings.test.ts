/** The safety argument of `session-log.ts`, attacked: every order of the steps of two and three holders. */

import { describe, expect, test } from "vitest";
import { Disk } from "./disk.js";
import type { Process } from "./explore.js";
import { type Exploration, explore } from "./explore.js";
import { append, create, History, ID, open, remove, storeOn } from "./judge.js";

type Scenario = (history: History) => readonly Process[];

/** A session with one event, and the processes of a scenario on it. */
function on(scenario: Scenario, prepare: (disk: Disk) => Promise<void> | void = oneEvent): Exploration["world"] {
  return async () => {
    const disk = new Disk();
    await prepare(disk);
    const history = new History(disk);
    return { processes: scenario(history), verify: () => history.verify() };
  };
}

async function oneEvent(disk: Disk): Promise<void> {
  const store = storeOn(disk, "before");
  await store.create(ID, 1n);
  await store.append(ID, 1n, { runId: "r", type: "t", data: "first" });
}

const nothing = (): void => {};

const staleAgainstNew: Scenario = (history) => [
  history.process("old", append(1n, "old 1"), append(1n, "old 2")),
  history.process("new", open(2n), append(2n, "new")),
];

/** Thousands of runs: a minute is for a machine that has other things to do. */
const timeout = 60_000;

describe("all orders", { timeout }, () => {
  test("a stale appender against a new holder", async () => {
    expect(await explore({ world: on(staleAgainstNew) })).toBeGreaterThan(100);
  });

  test("two new holders at once", async () => {
    const world = on((history) => [
      history.process("b", open(2n), append(2n, "b")),
      history.process("c", open(3n), append(3n, "c")),
    ]);
    expect(await explore({ world })).toBeGreaterThan(100);
  });

  test("two writers with one token: the store still loses nothing", async () => {
    const world = on((history) => [
      history.process("a", append(1n, "a 1"), append(1n, "a 2")),
      history.process("b", append(1n, "b 1"), append(1n, "b 2")),
    ]);
    expect(await explore({ world })).toBeGreaterThan(100);
  });

  test("two creations of one session", async () => {
    const world = on(
      (history) => [
        history.process("a", create(1n, "session-exists"), append(1n, "a")),
        history.process("b", create(2n, "session-exists"), append(2n, "b")),
      ],
      nothing,
    );
    expect(await explore({ world })).toBeGreaterThan(10);
  });

  test("a deletion against a stale appender", async () => {
    const world = on((history) => [
      history.process("a", append(1n, "a", "unknown-session")),
      history.process("b", remove(2n)),
    ]);
    expect(await explore({ world })).toBeGreaterThan(10);
  });
});

/** Deletions take many steps; here a process that could go on is made to wait at most so many times. */
describe("all orders with at most two or three preemptions", { timeout }, () => {
  test("three holders, one call each", async () => {
    const world = on((history) => [
      history.process("a", append(1n, "a")),
      history.process("b", open(2n)),
      history.process("c", append(3n, "c")),
    ]);
    expect(await explore({ world, preemptions: 2 })).toBeGreaterThan(100);
  });

  test("a deletion against a creation with a higher token", async () => {
    const world = on((history) => [
      history.process("a", remove(2n)),
      history.process("b", create(3n, "session-exists"), append(3n, "b")),
    ]);
    expect(await explore({ world, preemptions: 3 })).toBeGreaterThan(100);
  });

  test("a creation whose line comes in behind the seal of another's session", async () => {
    const world = on(
      (history) => [
        history.process("a", create(5n, "session-exists"), append(5n, "a")),
        history.process("b", create(3n, "session-exists"), remove(4n)),
      ],
      async (disk) => {
        await oneEvent(disk);
        await storeOn(disk, "deleter").delete(ID, 2n);
      },
    );
    expect(await explore({ world, preemptions: 2 })).toBeGreaterThan(100);
  });

  test("a deleter that sleeps through a second deletion leaves a ghost that nobody writes to", async () => {
    const world = on((history) => [
      history.process("a", remove(2n)),
      history.process("b", create(3n, "session-exists"), remove(4n), create(5n), append(5n, "b")),
      history.process("c", append(6n, "c", "unknown-session")),
    ]);
    expect(await explore({ world, preemptions: 2 })).toBeGreaterThan(100);
  });

  test("a creator that sleeps through a creation and a deletion", async () => {
    const world = on(
      (history) => [
        history.process("a", create(1n, "session-exists")),
        history.process("b", create(2n, "session-exists"), remove(2n), create(3n, "session-exists"), append(3n, "b")),
        history.process("c", append(4n, "c", "unknown-session")),
      ],
      nothing,
    );
    expect(await explore({ world, preemptions: 2 })).toBeGreaterThan(100);
  });
});

describe("deaths", { timeout }, () => {
  const everyByte = (length: number): number[] => Array.from({ length: length + 1 }, (_, bytes) => bytes);
  const telling = (length: number): number[] => [0, 1, length >> 1, length - 1, length];

  test("at every byte of an append, and the next holder after it", async () => {
    const world = on((history) => [
      history.process("old", append(1n, "old")),
      history.process("new", open(2n), append(2n, "new")),
    ]);
    expect(await explore({ world, cuts: everyByte, preemptions: 0 })).toBeGreaterThan(300);
  });

  test("at the telling bytes, in every order", async () => {
    expect(await explore({ world: on(staleAgainstNew), cuts: telling })).toBeGreaterThan(500);
  });

  test("of a deleter, at the telling bytes, against a creation", async () => {
    const world = on((history) => [
      history.process("a", remove(2n)),
      history.process("b", create(3n, "session-exists"), append(3n, "b")),
    ]);
    expect(await explore({ world, cuts: telling, preemptions: 2 })).toBeGreaterThan(100);
  });
});

describe("the model has teeth", () => {
  test("a disk that does not append at the end loses what was acknowledged", async () => {
    const world = on(staleAgainstNew, async (disk) => {
      await oneEvent(disk);
      disk.appendsWhereOpened = true;
    });
    await expect(explore({ world })).rejects.toThrow(/^after: /);
  });

  test("a disk whose link replaces loses a creation", async () => {
    const world = on(
      (history) => [
        history.process("a", create(1n, "session-exists"), append(1n, "a")),
        history.process("b", create(2n, "session-exists"), append(2n, "b")),
      ],
      (disk) => {
        disk.publishReplaces = true;
      },
    );
    await expect(explore({ world })).rejects.toThrow(/^after: /);
  });
});
