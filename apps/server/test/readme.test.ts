import { readFileSync } from "node:fs";
import { LeashError, type LeashErrorCode } from "@leasehold/leash";
import { LeaseError, type LeaseErrorCode } from "@leasehold/session-lease";
import { RunError, type RunErrorCode, SessionRuns } from "@leasehold/session-runs";
import { MemorySessionStore, StoreError, type StoreErrorCode } from "@leasehold/session-store";
import { expect, it } from "vitest";
import { replyFor } from "../src/http/error-reply.js";
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
  const listed = [...rowsUnder("Options").matchAll(/`--([a-z0-9-]+)/g)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(FLAGS.map(({ name }) => name).toSorted());
});

it("lists every metric, and no other", async () => {
  const metrics = new ServerMetrics();
  const store = new MemorySessionStore();
  const [no, none] = [() => false, () => 0];
  const runs = new SessionRuns();
  metrics.readFrom({ store, isDraining: no, backendAnswers: no, followers: none, runStats: () => runs.stats() });
  const exported = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  const listed = [...README.matchAll(/`(leasehold_[a-z_]+)/g)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(exported.toSorted());
});

/** Every code that a library's error can have: the compiler sees to it that none is missing. */
const LEASE: Record<LeaseErrorCode, true> = {
  held: true,
  unsupported: true,
  unavailable: true,
  "unknown-outcome": true,
  denied: true,
  invalid: true,
  corrupt: true,
  incompatible: true,
  closed: true,
  aborted: true,
};
const RUN: Record<RunErrorCode, true> = {
  session_leased_elsewhere: true,
  session_busy: true,
  draining: true,
  run_cancelled: true,
  release_requested: true,
  run_timed_out: true,
};
const STORE: Record<StoreErrorCode, true> = {
  "stale-token": true,
  "session-exists": true,
  "unknown-session": true,
  "domain-mismatch": true,
  invalid: true,
  unavailable: true,
  denied: true,
  corrupt: true,
  incompatible: true,
  closed: true,
  aborted: true,
};
const LEASH: Record<LeashErrorCode, true> = {
  invalid: true,
  "command-not-found": true,
  "command-not-executable": true,
  expired: true,
  unavailable: true,
  unwatched: true,
  "not-gone": true,
  unsupported: true,
  closed: true,
};
const codes = <Code extends string>(all: Record<Code, true>): Code[] => Object.keys(all) as Code[];

it.each([
  ...codes(LEASE).map((code) => new LeaseError(code, "")),
  ...codes(RUN).map((code) => new RunError(code, "")),
  ...codes(STORE).map((code) => new StoreError(code, "")),
  ...codes(LEASH).map((code) => new LeashError(code, "")),
  new Error("of no library"),
])("lists the answer to $name $code", (error) => {
  const { status, code } = replyFor(error);
  const rows = README.split("\n").filter((line) => /^\| \d{3}/.test(line));
  const [statuses = "", listed] = rows.find((row) => row.includes(String(status)))?.split(" | ") ?? [];
  expect(statuses).toContain(String(status));
  expect(listed).toContain(`\`${code}\``);
});
