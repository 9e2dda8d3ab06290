import type { LeaseRecord, Loaded } from "@leasehold/session-lease";
import type { Version } from "./k8s-store.js";

/** Sessions; the one seen longest ago is given up, which costs its next acquire two requests. */
const MOST_KNOWN = 10_000;

/**
 * What this process saw last of sessions, so that an acquire can begin with the write that is likely to succeed: over the
 * object of a hold that has ended, or as a new object. It never answers anything: a memory that is wrong costs a request.
 */
export class KnownObjects {
  readonly #known = new Map<string, Readonly<{ record: LeaseRecord; version: Version }>>();

  keep(sessionId: string, record: LeaseRecord, version: Version): void {
    this.#known.delete(sessionId);
    this.#known.set(sessionId, { record, version: { ...version, record } });
    if (this.#known.size <= MOST_KNOWN) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }

  forget(sessionId: string): void {
    this.#known.delete(sessionId);
  }

  /** Undefined if this process has not seen the session, or no object of it. */
  versionSeen(sessionId: string): string | undefined {
    return this.#known.get(sessionId)?.version.resourceVersion;
  }

  /** Undefined where a look comes first: it was held when last seen. */
  recall(sessionId: string): Loaded<Version> {
    const known = this.#known.get(sessionId);
    if (known === undefined) return {};
    return known.record.standing === "held" ? undefined : known;
  }
}
