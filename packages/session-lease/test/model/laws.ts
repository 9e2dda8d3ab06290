import { expect } from "vitest";
import { isLive, type Lease } from "../../src/index.js";
import type { Applied } from "./scripted-store.js";

/** A lease as its caller got it, and when the request that confirmed it was sent (on the clock that never steps). */
export type Told = Readonly<{ lease: Lease; sentAt: number }>;

/** What must hold of everything that was ever written, whoever wrote it and however late it arrived. */
export function checkHistory(history: readonly Applied[], told: readonly Told[], releasing: ReadonlySet<string>): void {
  let highest = 0n;
  for (const { before, after, sentAt, sentWall } of history) {
    const now = Math.floor(sentWall);
    if (after === undefined) {
      expect(before !== undefined && isLive(before, now), "a live record is forgotten").toBe(false);
      continue;
    }
    const sameHold = before?.owner === after.owner && before.token === after.token;
    if (!sameHold) {
      expect(after.token, "a new hold without a higher token").toBeGreaterThan(highest);
      expect(after.acquiredAt, "a hold made by something else than a grant").toBe(now);
      expect(before !== undefined && isLive(before, now) && before.owner !== after.owner, "a live hold is taken").toBe(
        false,
      );
    }
    if (sameHold && after.standing === "held") expect(before.standing, "a renewal revives what had ended").toBe("held");
    if (after.standing === "released") {
      expect(sameHold, "a release touches another hold").toBe(true);
      expect(releasing, "a release that nobody asked for").toContain(after.owner);
    }
    if (!sameHold && before?.standing === "held") {
      for (const { lease, sentAt: confirmedAt } of told) {
        if (lease.owner !== before.owner || lease.token !== before.token) continue;
        expect(sentAt, "taken while its holder could count on it").toBeGreaterThanOrEqual(confirmedAt + lease.ttl);
      }
    }
    if (after.token > highest) highest = after.token;
  }
}
