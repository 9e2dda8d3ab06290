import {
  type FullSessionLease,
  forwardLease,
  LeaseHeldError,
  LeaseUnsupportedError,
  NO_CAPABILITIES,
  POWERS,
} from "@leasehold/session-lease";
import { describe, expect, test } from "vitest";
import { FakeClock, runConformance, type Subject, transitionLease } from "../src/index.js";

const refuse = (what: string) => (): Promise<never> => Promise.reject(new LeaseUnsupportedError(`cannot ${what}`));

/** A lease that can do nothing beyond the core and declares so; `overrides` is where it lies. */
function coreOnly(overrides: Partial<FullSessionLease> = {}): Subject {
  return {
    name: "core only",
    inMemory: true,
    open: () => {
      const clock = new FakeClock();
      const inner = transitionLease({ clock, ttl: 30_000 });
      const powers = Object.fromEntries(POWERS.map((power) => [power, refuse(power)]));
      const lease = forwardLease(inner, {
        ...powers,
        capabilities: NO_CAPABILITIES,
        acquire: (id, owner, options = {}) =>
          options.ttl === undefined && options.metadata === undefined
            ? inner.acquire(id, owner, options)
            : refuse("choose a ttl or keep metadata")(),
        renew: (ref, options = {}) =>
          inner.renew(ref, options).catch((error: unknown) => {
            throw error instanceof LeaseHeldError ? new LeaseHeldError("lost") : error;
          }),
        release: (ref, options) =>
          ref.token === undefined ? refuse("release by owner")() : inner.release(ref, options),
        ...overrides,
      });
      return { lease, advance: (ms) => clock.advance(ms) };
    },
  };
}

test("a core without any power or truth conforms, and every check that it lacks something for says what", async () => {
  const { results, counts, conclusion } = await runConformance(coreOnly());
  expect(results.filter(({ verdict }) => verdict === "failed").map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
  expect(conclusion).toBe("conforms");
  expect(counts.notApplicable).toBeGreaterThan(0);
  const silent = results.filter(({ verdict, reason }) => verdict === "not-applicable" && !reason);
  expect(silent).toEqual([]);
});

test("the checks of a case that needs nothing optional are all run", async () => {
  const { results } = await runConformance(coreOnly(), { effort: "quick" });
  const cases = new Set(results.filter(({ verdict }) => verdict === "passed").map((result) => result.case));
  // Not tried at all: ttl per call (17), failures (18: no outage), transfer, observers, requests (20 to 22), forgetting (24).
  expect([...cases].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 23]);
});

describe("a capability declared absent, and there all the same, is a lie", () => {
  const answers: Readonly<Record<string, Partial<FullSessionLease>>> = {
    inspect: { inspect: () => Promise.resolve(undefined) },
    list: { list: () => Promise.resolve({ leases: [] }) },
    forceRelease: { forceRelease: () => Promise.resolve(false) },
    requestRelease: { requestRelease: () => Promise.resolve(false) },
    waitForChange: { waitForChange: () => Promise.resolve() },
    domain: { domain: () => Promise.resolve("d") },
  };
  for (const [power, lie] of Object.entries(answers)) {
    test(power, async () => {
      const { results } = await runConformance(coreOnly(lie), { effort: "quick" });
      expect(results.filter(({ verdict }) => verdict === "failed").map(({ id }) => id)).toEqual([`C00-${power}`]);
    });
  }
});

test("a capability declared, and refused, is a lie", async () => {
  const capabilities = { ...NO_CAPABILITIES, domain: true };
  const { results } = await runConformance(coreOnly({ capabilities }), { effort: "quick" });
  expect(results.find(({ id }) => id === "C00-domain")).toMatchObject({ verdict: "failed", level: "MUST" });
});
