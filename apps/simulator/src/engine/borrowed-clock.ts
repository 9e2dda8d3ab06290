/**
 * Takes chance and real time away from everything in this program while a world runs. The product asks Node for random
 * bytes, which the seed decides here; and it must never ask Node for the time, which the world decides: whoever does so
 * past its `Clock` is found out, because a replay would differ.
 */

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import type { Random } from "./random.js";

/** The delay of a timer that only keeps a program alive. It may be set: it never fires. */
const NEVER = 2 ** 31 - 1;

const real = {
  randomBytes: crypto.randomBytes,
  randomUUID: crypto.randomUUID,
  random: Math.random,
  now: Date.now,
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
};

function refused(what: string): never {
  throw new Error(`${what} was called: real time has no place in a simulated world`);
}

/** Until the function returned is called. */
export function borrowHost(random: Random): () => void {
  const uuid = (): string => {
    const hex = random.bytes(16).toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  };
  Object.assign(crypto, { randomBytes: (length: number) => random.bytes(length), randomUUID: uuid });
  syncBuiltinESMExports();
  Math.random = () => random.next();
  Date.now = () => refused("Date.now");
  const timers = {
    setTimeout: () => refused("setTimeout"),
    setInterval: (_: unknown, delay: number) => (delay === NEVER ? undefined : refused("setInterval")),
    clearInterval: () => undefined,
  };
  Object.assign(globalThis, timers);
  return () => {
    const { randomBytes, randomUUID, random: chance, now, ...realTimers } = real;
    Object.assign(crypto, { randomBytes, randomUUID });
    syncBuiltinESMExports();
    Math.random = chance;
    Date.now = now;
    Object.assign(globalThis, realTimers);
  };
}
