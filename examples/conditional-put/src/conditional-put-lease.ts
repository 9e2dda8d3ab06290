/**
 * A lease on any store that speaks HTTP with conditional writes: PUT and DELETE with `If-Match`, PUT with
 * `If-None-Match: *`, as object stores do. Nobody's clock is trusted: a hold is over once a rival has watched its object
 * stand still for the ttl. An object store's ETag may be a hash of the content, so a line of chance goes in front of every
 * record: no two writes are alike, and no version repeats.
 */

import { createHash, randomUUID } from "node:crypto";
import {
  type CasLeaseOptions,
  type CasStore,
  casLease,
  decodeRecord,
  encodeRecord,
  type FullSessionLease,
  findLeaseError,
  LeaseCorruptError,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
} from "@leasehold/session-lease";

export interface ObjectStoreOptions {
  /** Where the records are kept, ending in a slash. */
  readonly url: string;
  /** Signs requests, or stands in for the network; the platform's own unless given. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/** The lease. Throws `LeaseInvalidError` for options that make no sense. */
export function conditionalPutLease({
  url,
  fetch,
  ...options
}: ObjectStoreOptions & Pick<CasLeaseOptions<string>, "ttl" | "forgetAfter" | "clock">): FullSessionLease {
  const store = conditionalPutStore({ url, fetch });
  return casLease({ name: "conditional-put", timeout: 5000, expiry: "watched-silence", ...options, ...store });
}

/** The compare-and-set below it. */
export function conditionalPutStore({ url, fetch = globalThis.fetch }: ObjectStoreOptions): CasStore<string> {
  const at = (sessionId: string): string => new URL(createHash("sha256").update(sessionId).digest("hex"), url).href;

  const load: CasStore<string>["load"] = async (sessionId, { signal }) => {
    const request = new Request(at(sessionId), { signal: signal ?? null });
    const response = await fetch(request).catch((cause: unknown) => {
      throw new LeaseUnavailableError("the store cannot be reached", { cause });
    });
    if (response.status === 404) return undefined;
    const version = response.headers.get("etag");
    if (!response.ok || version === null) throw new LeaseUnavailableError(`the store answered ${response.status}`);
    try {
      const text = await response.text();
      const found = decodeRecord(text.slice(text.indexOf("\n") + 1));
      if (found.sessionId === sessionId) return { record: found.record, version };
      return { broken: new LeaseCorruptError("the object belongs to another session"), version };
    } catch (error) {
      const broken = findLeaseError(error);
      if (broken instanceof LeaseCorruptError) return { broken, version };
      throw broken ?? new LeaseUnavailableError("the answer was cut off", { cause: error });
    }
  };

  const swap: CasStore<string>["swap"] = async (sessionId, version, next) => {
    const headers = { ...(version === undefined ? { "if-none-match": "*" } : { "if-match": version }) };
    const write = next && { method: "PUT", body: `${randomUUID()}\n${encodeRecord(sessionId, next)}` };
    const request = new Request(at(sessionId), { headers, ...(write ?? { method: "DELETE" }) });
    const response = await fetch(request).catch((cause: unknown) => {
      throw new LeaseUnknownOutcomeError("the answer was lost", { cause });
    });
    if ([404, 409, 412].includes(response.status)) return false;
    if (!response.ok) throw new LeaseUnknownOutcomeError(`the store answered ${response.status}`);
    const etag = response.headers.get("etag");
    return etag === null ? true : { version: etag };
  };

  return { load, swap };
}
