/** Clocks that disagree: nodes an hour off, stepped while they hold; two API servers; a proxy with its own `Date`. B14, B32. */

import { type Lease, momentOf, remainingValidity } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster, HOUR, type Process, TTL, takeover } from "./cluster.js";

let cluster: Cluster;

beforeEach(() => {
  cluster = new Cluster();
});
afterEach(() => cluster.close());

/** Renews every third of the ttl, as a keeper does, and says how long it may still act. */
class Holder {
  readonly #process: Process;
  #lease: Lease | undefined;
  #since = { wall: 0, monotonic: 0 };

  constructor(process: Process) {
    this.#process = process;
  }

  async acquire(sessionId: string): Promise<Lease> {
    this.#since = momentOf(this.#process.clock);
    this.#lease = await cluster.until(this.#process.lease.acquire(sessionId, "holder"));
    return this.#lease;
  }

  async renew(): Promise<void> {
    if (this.#lease === undefined) throw new Error("nothing is held");
    const since = momentOf(this.#process.clock);
    this.#lease = await cluster.until(this.#process.lease.renew(this.#lease));
    this.#since = since;
  }

  /** By true time: that of a clock which nobody steps. */
  get mayAct(): boolean {
    return remainingValidity(this.#since, TTL, momentOf(this.#process.clock)) > 0;
  }
}

const isHeld = (process: Process, sessionId = "s"): Promise<unknown> =>
  process.lease.acquire(sessionId, "rival").then(
    () => "granted",
    (error: { code: string }) => error.code,
  );

describe.each([
  ["an hour ahead", HOUR],
  ["an hour behind", -HOUR],
])("a node whose clock is %s", (_, ahead) => {
  test("does not steal from a live holder, however long it tries", async () => {
    const server = cluster.server();
    const holder = new Holder(cluster.process(server));
    await holder.acquire("s");
    const rival = cluster.process(server, { ahead });
    for (let passed = 0; passed < 6 * TTL; passed += TTL / 6) {
      expect(await isHeld(rival)).toBe("held");
      await cluster.clock.advance(TTL / 6);
      if (passed % (TTL / 3) === 0) await holder.renew();
    }
  });

  test("is not robbed while it renews", async () => {
    const server = cluster.server();
    const holder = new Holder(cluster.process(server, { ahead }));
    await holder.acquire("s");
    const rival = cluster.process(server);
    for (let passed = 0; passed < 4 * TTL; passed += TTL / 3) {
      await cluster.clock.advance(TTL / 3);
      expect(await isHeld(rival)).toBe("held");
      await holder.renew();
    }
  });

  test("takes over from a dead holder within ttl + 3 s + serverSkew, and not before its holder has stopped", async () => {
    const server = cluster.server();
    const holder = new Holder(cluster.process(server));
    await holder.acquire("s");
    const rival = cluster.process(server, { ahead });
    const waited = await takeover(cluster, rival, "s", "rival");
    expect(waited).toBeGreaterThanOrEqual(TTL);
    expect(waited).toBeLessThanOrEqual(TTL + 3000 + 2000);
    expect(holder.mayAct).toBe(false);
  });

  test("comes fresh, after the hold has run out, and takes over at once", async () => {
    const server = cluster.server();
    await new Holder(cluster.process(server)).acquire("s");
    await cluster.clock.advance(TTL + 3000 + 2000);
    expect(await isHeld(cluster.process(server, { ahead }))).toBe("granted");
  });

  test("writes times of the server's, not of its own", async () => {
    const server = cluster.server();
    await new Holder(cluster.process(server, { ahead })).acquire("s");
    const renewTime = cluster.renewTime("s");
    expect(Math.abs(renewTime - cluster.clock.wall())).toBeLessThanOrEqual(1000);
  });
});

describe.each([
  ["an hour ahead", HOUR],
  ["an hour behind", -HOUR],
])("a clock that is stepped %s", (_, step) => {
  test("under a holder: its next renewal is granted, with times of the server's, and nobody gets in", async () => {
    const server = cluster.server();
    const process = cluster.process(server);
    const holder = new Holder(process);
    const { token } = await holder.acquire("s");
    await cluster.clock.advance(5000);
    process.clock.ahead += step;
    await holder.renew();
    const renewTime = cluster.renewTime("s");
    expect(Math.abs(renewTime - cluster.clock.wall())).toBeLessThanOrEqual(2000);
    expect(await isHeld(cluster.process(server))).toBe("held");
    await holder.renew();
    expect((await process.lease.inspect("s"))?.token).toBe(token);
  });

  test("under a rival that waits: no overlap, and a takeover all the same", async () => {
    const server = cluster.server();
    const holder = new Holder(cluster.process(server));
    await holder.acquire("s");
    const rival = cluster.process(server);
    expect(await isHeld(rival)).toBe("held");
    await cluster.clock.advance(TTL / 2);
    rival.clock.ahead += step;
    expect(await isHeld(rival)).toBe("held");
    const waited = await takeover(cluster, rival, "s", "rival");
    expect(waited).toBeGreaterThanOrEqual(TTL / 2);
    expect(waited).toBeLessThanOrEqual(TTL / 2 + 3000 + 2000);
    expect(holder.mayAct).toBe(false);
  });
});

describe("two API servers 2.5 s apart", () => {
  const APART = 2500;

  test.each([
    ["the rival sees the one ahead", 0, APART],
    ["the holder sees the one ahead", APART, 0],
  ])("each process sees one of them, %s: no two valid holders", async (_, holders, rivals) => {
    const holder = new Holder(cluster.process(cluster.server(holders)));
    await holder.acquire("s");
    const rival = cluster.process(cluster.server(rivals));
    await takeover(cluster, rival, "s", "rival");
    expect(holder.mayAct).toBe(false);
  });

  test("the same with bounds as narrow as can be", async () => {
    const [one, other] = [cluster.server(), cluster.server(APART)];
    const [process, rival] = [cluster.process(one), cluster.process(other)];
    for (let phase = 0; phase < 20; phase += 1) {
      await process.lease.inspect("s");
      await rival.lease.inspect("s");
      await cluster.clock.advance(333);
    }
    const holder = new Holder(process);
    await holder.acquire("s");
    await takeover(cluster, rival, "s", "rival");
    expect(holder.mayAct).toBe(false);
  });

  test("a balancer sends every request to the other one: no two valid holders, no loss, and a takeover in time", async () => {
    const servers = [cluster.server(), cluster.server(APART)];
    const balanced = (): Process => {
      const process = cluster.process(cluster.server());
      let turn = 0;
      const handle: (typeof process.link.server)["handle"] = (call) => {
        turn += 1;
        return servers[turn % 2]?.handle(call) ?? process.link.server.handle(call);
      };
      process.link.server = { handle } as typeof process.link.server;
      return process;
    };
    const holder = new Holder(balanced());
    await holder.acquire("s");
    const rival = balanced();
    for (let renewals = 0; renewals < 12; renewals += 1) {
      expect(await isHeld(rival)).toBe("held");
      await cluster.clock.advance(TTL / 3);
      await holder.renew();
    }
    const waited = await takeover(cluster, rival, "s", "rival");
    expect(holder.mayAct).toBe(false);
    expect(waited).toBeLessThanOrEqual(TTL + APART + 3000 + 2000);
  });

  test("a write that reaches the one ahead is done again with the time learnt", async () => {
    const process = cluster.process(cluster.server());
    const holder = new Holder(process);
    await holder.acquire("s");
    const ahead = cluster.server(HOUR);
    process.link.server = ahead;
    await holder.renew();
    const renewTime = cluster.renewTime("s");
    expect(renewTime).toBeGreaterThanOrEqual(cluster.clock.wall() + HOUR);
    expect(await isHeld(cluster.process(ahead))).toBe("held");
  });
});

describe("a proxy with its own Date", () => {
  const proxied = (process: Process, ahead: number): void => {
    const { server } = process.link;
    const handle: typeof server.handle = (call) => {
      const answer = server.handle(call);
      const date = new Date(cluster.clock.wall() + ahead).toUTCString();
      return { ...answer, headers: { ...answer.headers, date } };
    };
    process.link.server = { handle } as typeof server;
  };

  test.each([
    ["ahead", HOUR],
    ["behind", -HOUR],
  ])("an hour %s, before the rival: it does not take over early, and does in the end", async (_, ahead) => {
    const server = cluster.server();
    const holder = new Holder(cluster.process(server));
    await holder.acquire("s");
    const rival = cluster.process(server);
    proxied(rival, ahead);
    const waited = await takeover(cluster, rival, "s", "rival");
    expect(waited).toBeGreaterThanOrEqual(TTL);
    expect(waited).toBeLessThanOrEqual(TTL + 3000 + 2000);
    expect(holder.mayAct).toBe(false);
  });

  test.each([
    ["ahead", HOUR],
    ["behind", -HOUR],
  ])("an hour %s, before the holder: it is not robbed, nor is it lost", async (_, ahead) => {
    const server = cluster.server();
    const process = cluster.process(server);
    proxied(process, ahead);
    const holder = new Holder(process);
    await holder.acquire("s");
    const rival = cluster.process(server);
    for (let renewals = 0; renewals < 60; renewals += 1) {
      await cluster.clock.advance(TTL / 3);
      expect(await isHeld(rival)).toBe("held");
      await holder.renew();
    }
    await takeover(cluster, rival, "s", "rival");
    expect(holder.mayAct).toBe(false);
  });

  test("whose pages of its own tell another time: they are not counted", async () => {
    const server = cluster.server();
    const holder = new Holder(cluster.process(server));
    await holder.acquire("s");
    const rival = cluster.process(server);
    expect(await isHeld(rival)).toBe("held");
    const date = new Date(cluster.clock.wall() + HOUR).toUTCString();
    const page = { status: 502, headers: { date, "content-type": "text/html" }, body: "<html>Bad Gateway</html>" };
    rival.link.inject(({ method }) => method === "GET", { kind: "answer", answer: page }, 1);
    expect(await cluster.until(isHeld(rival))).toBe("held");
  });
});
