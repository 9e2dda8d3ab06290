/** The real code of several processes, and every order in which their requests can reach the server. */

import { expect, test } from "vitest";
import { everyOrder, type Flaw, type Scenario, straight, TTL } from "./simulated-network.js";

/** Ms by which a hold is dead for everybody. */
const LONG_AFTER = TTL + 10_000;

const twoAcquire: Scenario = async (network) => {
  const [a, b] = [network.process("a"), network.process("b")];
  return [() => a.acquire(), () => b.acquire()];
};

const threeAcquire: Scenario = async (network) => {
  const [a, b, c] = [network.process("a"), network.process("b"), network.process("c")];
  return [() => a.acquire(), () => b.acquire(), () => c.acquire()];
};

const twoTakeOver: Scenario = async (network) => {
  const [old, a, b] = [network.process("old"), network.process("a"), network.process("b")];
  await straight(network, old.acquire());
  await network.clock.advance(LONG_AFTER);
  return [() => a.acquire(), () => b.acquire()];
};

const reclaimAgainstTakeover: Scenario = async (network) => {
  const [a, b] = [network.process("a"), network.process("b")];
  await straight(network, a.acquire());
  await network.clock.advance(LONG_AFTER);
  return [() => a.renew({ reclaimExpired: true }), () => b.acquire()];
};

const renewalWhileTimePasses: Scenario = async (network) => {
  const [a, b] = [network.process("a"), network.process("b")];
  await straight(network, a.acquire());
  network.may("time", () => void network.clock.advance(LONG_AFTER));
  return [() => a.renew(), () => b.acquire()];
};

const releaseAgainstRenewal: Scenario = async (network) => {
  const [a, b] = [network.process("a"), network.process("b")];
  await straight(network, a.acquire());
  return [() => a.renew(), () => a.release(), () => b.acquire()];
};

const lettingGoInTurns: Scenario = async (network) => {
  const [a, b] = [network.process("a"), network.process("b")];
  const turn = async (process: typeof a): Promise<void> => {
    await process.acquire();
    await process.release();
  };
  return [() => turn(a), () => turn(b)];
};

const renewalAfterADeletion: Scenario = async (network) => {
  const [a, b] = [network.process("a"), network.process("b")];
  await straight(network, a.acquire());
  await network.clock.advance(LONG_AFTER);
  network.deleteObject();
  return [() => a.renew({ reclaimExpired: true }), () => b.acquire()];
};

const SCENARIOS: Readonly<Record<string, readonly [Scenario, number]>> = {
  "two acquire a new session, one answer is lost": [twoAcquire, 1],
  "three acquire a new session": [threeAcquire, 0],
  "two take over, one answer is lost": [twoTakeOver, 1],
  "a holder reclaims while another takes over, one answer is lost": [reclaimAgainstTakeover, 1],
  "a renewal is under way while the ttl passes and another takes over": [renewalWhileTimePasses, 1],
  "a holder renews and releases at once, another acquires": [releaseAgainstRenewal, 0],
  "two acquire and release in turns": [lettingGoInTurns, 0],
  "the object was deleted, its holder renews by memory and another acquires": [renewalAfterADeletion, 1],
};

test.each(Object.entries(SCENARIOS))(
  "never two who may act, never a token twice, nobody back from the dead: %s",
  async (_, [scenario, losses]) => {
    expect(await everyOrder(scenario, { losses })).toBeGreaterThan(5);
  },
  60_000,
);

const FLAWS: Readonly<Record<Flaw, Scenario>> = {
  "versions are not compared": twoTakeOver,
  "uids are not compared": renewalAfterADeletion,
  "creates overwrite": twoAcquire,
};

test.each(Object.entries(FLAWS) as [Flaw, Scenario][])(
  "the exploration notices a server of which this is true: %s",
  async (flaw, scenario) => {
    await expect(everyOrder(scenario, { losses: 1, flaw })).rejects.toThrow(/may both act|twice|came back/);
  },
  60_000,
);
