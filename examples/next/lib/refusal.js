import { toHttp } from "@leasehold/session-runs";

/** The answer to a request that was refused. */
export function refusal(error) {
  const { status, code, message, retryAfterMs } = toHttp(error);
  const headers = retryAfterMs === undefined ? {} : { "Retry-After": String(Math.ceil(retryAfterMs / 1000)) };
  return Response.json({ code, message }, { status, headers });
}
