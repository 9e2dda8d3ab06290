import { readFileSync } from "node:fs";
import { LeaseUnavailableError } from "@leasehold/session-lease";
import { describe, expect, it } from "vitest";
import { VERSION } from "../src/holder.js";
import type { RunObserver } from "../src/index.js";
import { latch, Stage, TTL } from "./stage.js";

describe("contract runs 10: stats", () => {
  it("add up over a mixed afternoon, and the observer hears the same", async () => {
    const stage = new Stage();
    const heard: string[] = [];
    const observer = new Proxy({} as RunObserver, {
      get: (_, name) => (first: unknown) => void heard.push(`${String(name)} ${String(first)}`),
    });
    let down = false;
    const runs = stage.server(
      { observer },
      {
        renew: (ref, options) =>
          down ? Promise.reject(new LeaseUnavailableError("down")) : stage.authority.renew(ref, options),
      },
    );
    await runs.run("a", {}, () => 0);
    await runs.run("a", {}, () => Promise.reject(new Error("failed"))).catch(() => undefined);
    const done = latch();
    const first = runs.run("a", {}, () => done.promise);
    await runs.run("a", {}, () => 0).catch(() => undefined);
    await stage.authority.acquire("b", "other");
    await runs.run("b", {}, () => 0).catch(() => undefined);
    await stage.clock.advance(TTL / 3);
    down = true;
    await stage.clock.advance(TTL / 3);
    down = false;
    await stage.clock.advance(TTL / 3);
    expect(runs.stats()).toMatchObject({ held: 1, starting: 0, unsettled: 0 });
    done.open();
    await first;
    expect(runs.stats()).toMatchObject({
      held: 0,
      acquired: 3,
      refusedBusy: 1,
      refusedElsewhere: 1,
      acquireFailures: 0,
      takeovers: { released: 2, expired: 0 },
      released: 3,
      releaseFailures: 0,
      runs: { finished: 2, failed: 1, lost: 0, abandoned: 0 },
    });
    const { renewed, renewFailures, longestRenewalLagMs } = runs.stats();
    expect(heard.filter((line) => line.startsWith("renewed"))).toHaveLength(renewed);
    expect(heard.filter((line) => line === "renewFailed unavailable")).toHaveLength(renewFailures);
    expect(renewFailures).toBeGreaterThan(0);
    expect(longestRenewalLagMs).toBeGreaterThan(0);
    expect(heard).toContain("refused here");
    expect(heard).toContain("refused elsewhere");
    expect(heard.filter((line) => line === "acquireEnded granted")).toHaveLength(3);
    expect(heard).toContain("acquireEnded held");
    expect(heard).toContain("runEnded failed");
  });

  it("an observer or a log that throws harms nobody", async () => {
    const stage = new Stage();
    const boom = (): never => {
      throw new Error("boom");
    };
    const observer: RunObserver = { acquireEnded: boom, released: boom, runEnded: boom };
    await expect(stage.server({ observer, log: boom }).run("s", {}, () => "fine")).resolves.toBe("fine");
  });

  it("the version that the operator sees is the package's", () => {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(VERSION).toBe(version);
  });
});
