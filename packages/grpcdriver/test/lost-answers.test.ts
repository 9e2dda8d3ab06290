/** What a client concludes, and does, when an answer does not come. In memory, on a fake clock. */

import { FakeClock } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";
import { type FullSessionLease, leaseErrorCode } from "@leasehold/session-lease";
import { beforeEach, describe, expect, test } from "vitest";
import { grpcdriver } from "../src/index.js";
import { Network, type Packet } from "./network.js";

const TTL = 30_000;

let clock: FakeClock;
let backend: FullSessionLease;
let network: Network;
let lease: FullSessionLease;
let rival: FullSessionLease;

beforeEach(async () => {
  clock = new FakeClock();
  backend = memlease({ clock, ttl: TTL });
  network = new Network(backend, clock);
  const open = (client: string) =>
    grpcdriver({ target: "localhost:1", transport: network.transport(client), clock, ttl: TTL });
  [lease, rival] = [await open("lease"), await open("rival")];
  network.packets.length = 0;
});

/** Begins a call that the network holds up, and gives its packet. */
async function held<T>(call: () => Promise<T>): Promise<{ answer: Promise<T>; packet: Packet }> {
  network.open = false;
  const answer = call();
  answer.catch(() => undefined);
  await clock.settle();
  network.open = true;
  const packet = network.packets.at(-1);
  if (packet === undefined) throw new Error("nothing was sent");
  return { answer, packet };
}

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);
const sent = (): string[] => network.packets.map(({ call }) => call);

describe("B41 an acquire that was granted, and whose answer was lost", () => {
  test("is an unknown outcome, and is given back by one release of its owner", async () => {
    const { answer, packet } = await held(() => lease.acquire("s", "a"));
    await packet.arrive();
    expect(await codeOf(rival.acquire("s", "b"))).toBe("held");
    packet.lose();
    expect(await codeOf(answer)).toBe("unknown-outcome");
    expect(sent()).toEqual(["acquire", "acquire", "release"]);
    expect((await rival.acquire("s", "b")).previous).toMatchObject({ owner: "a", ended: "released" });
  });

  test("is found again by its owner, with its token, when the release is lost as well", async () => {
    const { answer, packet } = await held(() => lease.acquire("s", "a"));
    await packet.arrive();
    network.open = false;
    packet.lose();
    await clock.settle();
    network.packets.at(-1)?.lose();
    network.open = true;
    expect(await codeOf(answer)).toBe("unknown-outcome");
    const { token } = (await backend.inspect("s")) ?? {};
    expect((await lease.acquire("s", "a")).token).toBe(token);
    expect(await codeOf(rival.acquire("s", "b"))).toBe("held");
  });

  test("is free after its ttl when nobody comes back for it", async () => {
    const { answer, packet } = await held(() => lease.acquire("s", "a"));
    await packet.arrive();
    network.open = false;
    packet.lose();
    await clock.settle();
    network.packets.at(-1)?.lose();
    network.open = true;
    expect(await codeOf(answer)).toBe("unknown-outcome");
    await clock.advance(TTL - 1);
    expect(await codeOf(rival.acquire("s", "b"))).toBe("held");
    await clock.advance(1);
    expect((await rival.acquire("s", "b")).previous).toMatchObject({ owner: "a", ended: "expired" });
  });

  test("that arrives after its own release is freed by the ttl, and disturbs nobody who came in between", async () => {
    const { answer, packet } = await held(() => lease.acquire("s", "a"));
    packet.lose();
    expect(await codeOf(answer)).toBe("unknown-outcome");
    const taken = await rival.acquire("s", "b");
    await packet.arrive();
    expect((await rival.renew(taken)).token).toBe(taken.token);
  });
});

describe("B41 a renewal whose answer was lost", () => {
  test("shortens nothing, whether or not it was applied", async () => {
    const grant = await lease.acquire("s", "a");
    await clock.advance(10_000);
    const { answer, packet } = await held(() => lease.renew(grant));
    await packet.arrive();
    packet.lose();
    expect(await codeOf(answer)).toBe("unknown-outcome");
    expect(await backend.inspect("s")).toMatchObject({ token: grant.token, expiry: clock.wall() + TTL });
    expect((await lease.renew(grant)).token).toBe(grant.token);
    expect(sent()).toEqual(["acquire", "renew", "renew"]);
  });

  test("B57 that arrives after the release revives nothing", async () => {
    const grant = await lease.acquire("s", "a");
    const { packet } = await held(() => lease.renew(grant));
    packet.lose();
    expect(await lease.release(grant)).toBe("released");
    await packet.arrive();
    expect(await backend.inspect("s")).toBeUndefined();
  });

  test("that arrives after a takeover changes nothing of it", async () => {
    const grant = await lease.acquire("s", "a");
    const { packet } = await held(() => lease.renew(grant, { reclaimExpired: true }));
    packet.lose();
    await clock.advance(TTL);
    const taken = await rival.acquire("s", "b");
    const before = await backend.inspect("s");
    await packet.arrive();
    expect(await backend.inspect("s")).toEqual(before);
    expect(taken.token).toBeGreaterThan(grant.token);
  });
});

describe("B41 a release whose answer was lost", () => {
  test("may be repeated", async () => {
    const grant = await lease.acquire("s", "a");
    const { answer, packet } = await held(() => lease.release(grant));
    await packet.arrive();
    packet.lose();
    expect(await codeOf(answer)).toBe("unknown-outcome");
    expect(await lease.release(grant)).toBe("absent");
  });

  test("B54 that arrives late frees nobody else's hold", async () => {
    const grant = await lease.acquire("s", "a");
    const { packet } = await held(() => lease.release(grant));
    packet.lose();
    await clock.advance(TTL);
    const taken = await rival.acquire("s", "b");
    await packet.arrive();
    expect((await rival.renew(taken)).token).toBe(taken.token);
  });
});

test("B43 a request that a proxy repeats is granted once", async () => {
  const { answer, packet } = await held(() => lease.acquire("s", "a"));
  await packet.arrive();
  await packet.arrive();
  packet.answer();
  const grant = await answer;
  expect(await backend.inspect("s")).toMatchObject({ token: grant.token, owner: "a" });
  expect(await lease.release(grant)).toBe("released");
  await packet.arrive();
  // Nobody waits for it any more, and its ttl ends it.
  await clock.advance(TTL);
  expect((await rival.acquire("s", "b")).token).toBeGreaterThan(grant.token);
});

test("what only looks is unavailable, not unknown", async () => {
  for (const look of [() => lease.inspect("s"), () => lease.list(), () => lease.domain()]) {
    const { answer, packet } = await held<unknown>(look);
    await packet.arrive();
    packet.lose();
    expect(await codeOf(answer)).toBe("unavailable");
  }
});

test("B51 an abort in flight is told at once, and what was granted meanwhile is given back, once", async () => {
  const abort = new AbortController();
  const { answer, packet } = await held(() => lease.acquire("s", "a", { signal: abort.signal }));
  await packet.arrive();
  abort.abort();
  expect(await codeOf(answer)).toBe("aborted");
  await clock.settle();
  expect(sent()).toEqual(["acquire", "release"]);
  expect(await backend.inspect("s")).toBeUndefined();
  packet.answer();
  await clock.settle();
  expect(sent()).toHaveLength(2);
});

describe("while a wait is being armed", () => {
  test("a try is sent only once the server watches; a renewal does not wait", async () => {
    const grant = await rival.acquire("s", "b");
    const watching: (() => void)[] = [];
    const transport = network.transport("lease");
    const slow = await grpcdriver({
      target: "localhost:1",
      clock,
      transport: {
        ...transport,
        watch: (method, request, watch) => {
          watching.push(() => transport.watch(method, request, watch));
          return () => undefined;
        },
      },
    });
    network.packets.length = 0;
    const waiting = slow.waitForChange("s");
    const attempt = codeOf(slow.acquire("s", "a"));
    await clock.settle();
    expect(sent()).toEqual([]);
    await slow.renew(grant);
    expect(sent()).toEqual(["renew"]);
    watching[0]?.();
    expect(await attempt).toBe("held");
    // The renewal went ahead of the watch, so the wait is over: it may have missed something.
    await waiting;
  });

  test("a server that does not say that it watches holds nobody up for longer than a second", async () => {
    const silent = await grpcdriver({
      target: "localhost:1",
      clock,
      transport: { ...network.transport("lease"), watch: () => () => undefined },
    });
    silent.waitForChange("s").catch(() => undefined);
    const attempt = silent.acquire("s", "a");
    await clock.advance(1_000);
    expect((await attempt).owner).toBe("a");
    await silent.close();
  });
});
