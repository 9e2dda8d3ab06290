import { FakeClock } from "@leasehold/conformance";
import { conformanceTests } from "@leasehold/conformance/vitest";
import { casLease, type LeaseRecord } from "@leasehold/session-lease";

conformanceTests("a map", () => {
  const records = new Map<string, { record: LeaseRecord; version: number }>();
  const clock = new FakeClock();
  let versions = 0;
  const lease = casLease<number>({
    name: "a map",
    clock,
    load: (id) => records.get(id),
    swap: (id, version, next) => {
      if (records.get(id)?.version !== version) return false;
      if (next === undefined) return records.delete(id);
      versions += 1;
      records.set(id, { record: next, version: versions });
      return true;
    },
  });
  return { lease, advance: (ms) => clock.advance(ms) };
});
