/**
 * Keeps web pages away from a server that trusts whoever can reach it.
 *
 * A page cannot forge `Host` or `Origin`. DNS rebinding makes a page's own name point here: the name is then in `Host`, and is
 * refused. A cross-site request carries an `Origin`, and is refused unless that origin is allowed. An IP literal in `Host`
 * passes, because rebinding needs a name.
 */

import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "./http-error.js";

export interface GuardOptions {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** Throws the `HttpError` that a request deserves. An allowed origin's page is told that it may read the answer. */
export function guardRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { allowedHosts, allowedOrigins }: GuardOptions,
): void {
  const name = hostName(request.headers.host);
  if (name === undefined) throw new HttpError(400, "invalid_request", "Host is missing or is no host name");
  if (isIP(name) === 0 && name !== "localhost" && !allowedHosts.includes(name)) {
    throw new HttpError(403, "host_not_allowed", "this Host is not served here; --allowed-host NAME allows one");
  }
  const { origin } = request.headers;
  if (origin === undefined) return;
  if (!allowedOrigins.includes(origin)) {
    throw new HttpError(403, "origin_not_allowed", "pages of this Origin may not call; --allowed-origin allows one");
  }
  reply.header("access-control-allow-origin", origin).header("vary", "origin");
}

/** What the page of an allowed origin may do, as its browser asks before it does so. */
export function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header("access-control-allow-methods", "GET, POST, DELETE")
    .header("access-control-allow-headers", "content-type")
    .send();
}

/** The name or address in a Host header, in lower case, without port, brackets and final dot. */
function hostName(host: string | undefined): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "") ?? [];
  return (bracketed ?? plain)?.toLowerCase().replace(/\.$/, "");
}
