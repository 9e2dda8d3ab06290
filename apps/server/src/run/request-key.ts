/**
 * What a client calls one request of its own, so that sending it again is no second request.
 *
 * The key and a digest of the body stand in the `started` event of the run that the request began. So they are kept
 * exactly as long as the run's events are, survive whatever the run survives, and are the same for every server.
 */

import { createHash } from "node:crypto";
import type { StoredEvent } from "@leasehold/session-store";
import { badRequest } from "../http/http-error.js";
import { isObject, REQUEST_KEY } from "./run-events.js";

/** Bytes. A header is read as latin1, so it has as many characters. */
const MAX_KEY = 128;

export interface RequestKey {
  readonly key: string;
  /** Of the body: hexadecimal SHA-256. */
  readonly digest: string;
  /** What the key looks like in the metadata of a lease, where it is nobody's business. */
  readonly mark: string;
}

/** The key in a lease's metadata. */
export const MARK_KEY = "request";

/** `body` as it was understood: blanks and the order of fields make no other request. Throws an `HttpError` of status 400. */
export function readRequestKey(header: string | string[] | undefined, body: object): RequestKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || header === "" || header.length > MAX_KEY) {
    throw badRequest(`Idempotency-Key must be 1 to ${MAX_KEY} bytes`);
  }
  const fields = Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1));
  return { key: header, digest: sha256(JSON.stringify(fields)), mark: sha256(header) };
}

/** What a `started` event says of the request that began its run. */
export function requestOf({ type, data }: StoredEvent): { key: string; digest: string } | undefined {
  const request = type === "started" && isObject(data) ? data[REQUEST_KEY] : undefined;
  if (!isObject(request)) return undefined;
  const { key, digest } = request;
  return typeof key === "string" && typeof digest === "string" ? { key, digest } : undefined;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
