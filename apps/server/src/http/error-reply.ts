/** The one place where errors become answers. No stack and no path of the host leaves through it. */

import { LeashError } from "@leasehold/leash";
import { toHttp } from "@leasehold/session-runs";
import { findStoreError, type StoreErrorCode } from "@leasehold/session-store";
import { HttpError, unknownSession } from "./http-error.js";

const STORE: Readonly<Record<StoreErrorCode, HttpError>> = {
  "unknown-session": unknownSession(),
  "session-exists": new HttpError(409, "session_exists", "there is such a session already"),
  "stale-token": new HttpError(409, "lease_lost", "another server has taken the session over", 1_000),
  invalid: new HttpError(400, "invalid_request", "the store refuses the request"),
  unavailable: new HttpError(503, "store_unavailable", "the session store cannot be read or written", 1_000),
  denied: new HttpError(503, "store_unavailable", "the session store refuses this server", 5_000),
  corrupt: new HttpError(500, "store_corrupt", "the session's log cannot be read; the server's log names the file"),
  incompatible: new HttpError(500, "store_incompatible", "the session was written by a newer version"),
  "domain-mismatch": new HttpError(500, "store_domain", "the store belongs to another lease domain"),
  closed: new HttpError(503, "draining", "the server is about to end", 1_000),
  aborted: new HttpError(503, "aborted", "the request was given up", 1_000),
};

/** Fastify's own codes, as far as a client can cause them. */
const FRAMEWORK: Readonly<Record<string, HttpError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: new HttpError(413, "too_large", "the body is too large: 512 KiB at most"),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new HttpError(415, "unsupported_media_type", "send content-type: application/json"),
  FST_ERR_CTP_EMPTY_JSON_BODY: new HttpError(
    400,
    "invalid_request",
    "the body is empty; send a JSON object, such as {}",
  ),
  FST_ERR_CTP_INVALID_JSON_BODY: new HttpError(400, "invalid_request", "the body is not valid JSON"),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new HttpError(
    400,
    "invalid_request",
    "the body's length is not its content-length",
  ),
  FST_ERR_BAD_URL: new HttpError(400, "invalid_request", "the path is not valid percent-encoding"),
};

/** What a server says that is full or about to end: it may say so thousands of times, and nothing is wrong. */
const TURNED_AWAY: ReadonlySet<string> = new Set(["draining", "too_many_waiting"]);

/** Whether the operator should hear of it. */
export function isFailure({ status, code }: HttpError): boolean {
  return status >= 500 && !TURNED_AWAY.has(code);
}

export function replyFor(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof LeashError) return ofLeash(error);
  const store = findStoreError(error);
  if (store !== undefined)
    return store.code === "invalid" ? new HttpError(400, "invalid_request", store.message) : STORE[store.code];
  const known = FRAMEWORK[(error as { code?: string } | undefined)?.code ?? ""];
  if (known !== undefined) return known;
  if ((error as { statusCode?: number } | undefined)?.statusCode === 400)
    return new HttpError(400, "invalid_request", "the body is not valid JSON");
  const { status, code, message, retryAfterMs } = toHttp(error);
  return new HttpError(status, code, message, retryAfterMs);
}

function ofLeash(error: LeashError): HttpError {
  switch (error.code) {
    case "not-gone":
      return new HttpError(503, "agent_not_gone", "the agent of the run before cannot be ended", 5_000);
    case "expired":
      return new HttpError(503, "lease_lost", "the lease ended before the agent could start", 1_000);
    case "closed":
      return new HttpError(503, "draining", "the server is about to end", 1_000);
    default:
      return new HttpError(
        503,
        "agent_unavailable",
        "the agent could not be started; the server's log says why",
        5_000,
      );
  }
}
