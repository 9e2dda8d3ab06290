import { expect, test } from "vitest";
import { CHECKS } from "../src/index.js";
import { MUTANTS } from "./mutants/all.js";
import { mutantsPage } from "./mutants/page.js";

/** Every way to be wrong that the contract names. */
const NAMED = [
  "no owner check",
  "no token check",
  "token resets on release",
  "token resets on deletion",
  "number tokens",
  "expiry off by one",
  "expiry ignored",
  "renew creates",
  "renew revives",
  "renew forgets the ttl",
  "release frees the successor",
  "release by name",
  "contention told as failure",
  "failure shown as contention",
  "leaky abort",
  "late grant kept",
  "shared factory",
  "lying capabilities: reasons",
  "list out of order",
  "versions that repeat",
  "stale load",
  "metadata leaks over a takeover",
];

test("every check of the exam is earned: some mutant fails it", () => {
  const earned = new Set(MUTANTS.flatMap(({ fails }) => fails));
  expect(CHECKS.map(({ id }) => id).filter((id) => !earned.has(id))).toEqual([]);
});

test("no mutant survives, none fails a check that there is not, and each has a name of its own", () => {
  const ids = new Set(CHECKS.map(({ id }) => id));
  expect(MUTANTS.filter(({ fails }) => fails.length === 0).map(({ name }) => name)).toEqual([]);
  expect(MUTANTS.flatMap(({ fails }) => fails).filter((id) => !ids.has(id))).toEqual([]);
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});

test("the mutants that the contract names are among them", () => {
  const names = new Set(MUTANTS.map(({ name }) => name));
  expect(NAMED.filter((name) => !names.has(name))).toEqual([]);
});

test("the page of mutants is up to date", async () => {
  await expect(mutantsPage(MUTANTS)).toMatchFileSnapshot("../docs/mutants.md");
});
