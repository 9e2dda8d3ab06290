import type { AcquireOptions, FullSessionLease, Lease, LeaseInfo, RenewOptions } from "@leasehold/session-lease";
import type { Stage } from "./perform.js";
import { recordedHolder } from "./recorded-holder.js";

/** What a process that holds leases can be asked for. `renew` and `release` are about what it acquired last. */
export type LeaseCalls = {
  acquire(sessionId: string, owner: string, options?: Omit<AcquireOptions, "signal">): Promise<Lease>;
  renew(options?: Omit<RenewOptions, "signal">): Promise<Lease>;
  release(): Promise<string>;
  inspect(sessionId: string): Promise<LeaseInfo | undefined>;
  forceRelease(sessionId: string): Promise<boolean>;
  closeLease(): Promise<void>;
};

/** The calls of a process that has this lease; its calls and beliefs go into the history. */
export function leaseCalls(inner: FullSessionLease, { recorder }: Pick<Stage, "recorder">): LeaseCalls {
  const lease = recordedHolder(inner, recorder);
  let held: Lease | undefined;
  const hold = (): Lease => {
    if (held === undefined) throw new Error("this process has acquired nothing");
    return held;
  };
  return {
    acquire: async (sessionId, owner, options) => {
      held = await lease.acquire(sessionId, owner, options);
      return held;
    },
    renew: async (options) => {
      held = await lease.renew(hold(), options);
      return held;
    },
    release: () => lease.release(hold()),
    inspect: (sessionId) => lease.inspect(sessionId),
    forceRelease: (sessionId) => lease.forceRelease(sessionId),
    closeLease: () => lease.close(),
  };
}
