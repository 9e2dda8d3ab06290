import type { Clock } from "@leasehold/session-lease";
import { EXAM_TTL } from "../../src/index.js";
import { referenceDriver, SOUND } from "../reference/driver.js";
import type { Mutant } from "./mutant.js";

/** Both of its faces have moved by the larger of what the two of the other clock have. */
function larger(inner: Clock): Clock {
  let seen = { wall: inner.wall(), monotonic: inner.monotonic() };
  const shown = { ...seen };
  const look = (): typeof shown => {
    const now = { wall: inner.wall(), monotonic: inner.monotonic() };
    const passed = Math.max(now.wall - seen.wall, now.monotonic - seen.monotonic);
    seen = now;
    shown.wall += passed;
    shown.monotonic += passed;
    return shown;
  };
  return {
    wall: () => look().wall,
    monotonic: () => look().monotonic,
    schedule: (callback, delayMs) => inner.schedule(callback, delayMs),
  };
}

/** The wrong clock asked. */
export const CLOCK_MUTANTS: readonly Mutant[] = [
  {
    name: "the host's clock decides",
    sentence: "Expiry is judged by the clock of whoever asks, not by the authority's.",
    build: { driver: (_inner, { authority, host }) => referenceDriver(authority, host, EXAM_TTL, SOUND) },
    fails: ["L05-host-clock-forward"],
  },
  {
    name: "larger clock for silence",
    sentence: "Whoever watches a hold counts its silence by the larger of two clocks, not by the smaller.",
    build: { silence: larger },
    fails: ["L05-host-clock-forward"],
  },
];
