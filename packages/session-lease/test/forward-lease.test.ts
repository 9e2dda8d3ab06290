import { expect, test } from "vitest";
import { casLease, forwardLease, leaseErrorCode, POWERS, supports } from "../src/index.js";
import { ManualClock } from "./model/manual-clock.js";
import { MapStore } from "./model/map-store.js";

const inner = () => casLease({ ...new MapStore().store(), name: "inner", clock: new ManualClock() });

test("name, capabilities and powers are those of the lease behind", async () => {
  const lease = inner();
  const wrapped = forwardLease(lease);
  expect(wrapped.name).toBe("inner");
  expect(wrapped.capabilities).toBe(lease.capabilities);
  for (const power of POWERS) expect(supports(wrapped, power)).toBe(supports(lease, power));
  const granted = await wrapped.acquire("s", "o");
  expect(await lease.inspect("s")).toMatchObject({ owner: "o", token: granted.token });
  expect(leaseErrorCode(await wrapped.domain().catch((error: unknown) => error))).toBe("unsupported");
  await wrapped.close();
  expect(leaseErrorCode(await lease.renew(granted).catch((error: unknown) => error))).toBe("closed");
});

test("what is overridden is replaced, also where the lease calls for it through `in`", async () => {
  const lease = inner();
  const wrapped = forwardLease(lease, { release: async () => "absent" });
  const granted = await wrapped.acquire("s", "o");
  expect(await wrapped.release(granted)).toBe("absent");
  expect(await lease.release(granted)).toBe("released");
  expect("release" in wrapped && "acquire" in wrapped).toBe(true);
  expect("nothing of the kind" in wrapped).toBe(false);
});
