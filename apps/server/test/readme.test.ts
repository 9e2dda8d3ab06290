import { readFileSync } from "node:fs";
import { MemorySessionStore } from "@leasehold/session-store";
import { expect, it } from "vitest";
import { FLAGS } from "../src/index.js";
import { ServerMetrics } from "../src/metrics.js";

const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** First cells of the table under a heading. */
function rowsUnder(heading: string): string {
  const from = README.indexOf(`## ${heading}`);
  const section = README.slice(from, README.indexOf("\n## ", from + 1));
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(" | ")[0])
    .join("\n");
}

it("lists every flag, and no other", () => {
  const listed = [...rowsUnder("Options").matchAll(/`--([a-z-]+)/g)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(FLAGS.map(({ name }) => name).toSorted());
});

it("lists every metric, and no other", async () => {
  const metrics = new ServerMetrics();
  const store = new MemorySessionStore();
  const [no, none] = [() => false, () => 0];
  metrics.readFrom({ store, isDraining: no, backendAnswers: no, leasesHeld: none, runsUnsettled: none });
  const exported = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  const listed = [...README.matchAll(/`(leasehold_[a-z_]+)/g)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(exported.toSorted());
});
