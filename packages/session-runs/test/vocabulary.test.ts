import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RUN_LOG_EVENTS, RUN_METRICS } from "../src/index.js";
import { Stage } from "./stage.js";

const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** The first cells of the table under a heading, without what stands in braces. */
function named(heading: string): string[] {
  const chapter = README.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...chapter.matchAll(/^\| `([a-z_.]+)/gm)].map(([, name]) => name as string);
}

describe("contract runs 10: fixed names", () => {
  it("of log events are those of the README", () => {
    expect(named("Log events")).toEqual(Object.keys(RUN_LOG_EVENTS));
  });

  it("of metrics are those of the README, with their labels and in Prometheus' form", () => {
    expect(named("Metrics")).toEqual(Object.keys(RUN_METRICS));
    for (const [name, { type, labels, help }] of Object.entries(RUN_METRICS)) {
      expect(name).toMatch(/^leasehold_[a-z_]+$/);
      expect(name.endsWith("_total")).toBe(type === "counter");
      expect(name.endsWith("_seconds")).toBe(type === "histogram");
      expect(README).toContain(labels.length === 0 ? `\`${name}\`` : `\`${name}{${labels.join(",")}}\``);
      expect(help).toMatch(/\.$/);
      expect(labels).not.toEqual(expect.arrayContaining([expect.stringMatching(/session|run|owner|token/)]));
    }
  });

  it("of metrics are fed by what there is", () => {
    const stats = new Stage().server().stats();
    const fields = Object.values(RUN_METRICS).map(({ from }) => from);
    for (const from of fields.filter((each) => each.startsWith("stats."))) {
      expect(Object.keys(stats)).toContain(from.slice("stats.".length));
    }
    const counted = Object.values(RUN_METRICS).filter(({ type }) => type === "counter");
    expect(new Set(counted.map(({ from }) => from)).size).toBe(counted.length);
  });
});
