import { flocklease } from "@leasehold/flocklease";
import { SessionRuns } from "@leasehold/session-runs";
import { JsonlSessionStore } from "@leasehold/session-store";

const { DATA = ".data" } = process.env;

export const store = new JsonlSessionStore({ directory: `${DATA}/sessions` });

/** Every route is a bundle of its own, and evaluates this again: what they share is the instance of this process. */
export const runs = SessionRuns.shared("sessions", () => {
  return new SessionRuns({ lease: flocklease({ dir: `${DATA}/leases` }), above: (id) => store.highest(id) });
});
