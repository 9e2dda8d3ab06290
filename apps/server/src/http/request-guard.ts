/**
 * Who may ask anything of a listener. Every request passes here before its body is read.
 *
 * **Web pages** must not reach a server that trusts whoever can reach it, and a page cannot forge `Host` or `Origin`. DNS
 * rebinding makes a page's own name point here: the name is then in `Host`, and is refused. A cross-site request carries an
 * `Origin`, and is refused unless that origin is allowed. An IP literal in `Host` passes, because rebinding needs a name.
 *
 * **Clients** show a bearer token where tokens are asked for: on every route but the three that probes and scrapers use,
 * which tell nothing of any session. A path that leads nowhere asks for it too, so that nobody can try which ones do.
 */

import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { BearerTokens } from "./bearer-tokens.js";
import { HttpError } from "./http-error.js";

export interface GuardOptions {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Absent: nobody is asked for a token. */
  readonly tokens?: BearerTokens | undefined;
}

/** Without a token: for load balancers, kubelets and scrapers. */
const OPEN_ROUTES: ReadonlySet<string | undefined> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Rejects with the `HttpError` that a request deserves. An allowed origin's page is told that it may read the answer. */
export async function guardRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { allowedHosts, allowedOrigins, tokens }: GuardOptions,
): Promise<void> {
  const name = hostName(request.headers.host);
  if (name === undefined) throw new HttpError(400, "invalid_request", "Host is missing or is no host name");
  if (isIP(name) === 0 && name !== "localhost" && !allowedHosts.includes(name)) {
    throw new HttpError(403, "host_not_allowed", "this Host is not served here; --allowed-host NAME allows one");
  }
  const { origin } = request.headers;
  if (origin !== undefined) {
    if (!allowedOrigins.includes(origin)) {
      throw new HttpError(403, "origin_not_allowed", "pages of this Origin may not call; --allowed-origin allows one");
    }
    reply
      .header("access-control-allow-origin", origin)
      .header("access-control-expose-headers", "retry-after, idempotent-replayed")
      .header("vary", "origin");
  }
  // A browser's question whether it may ask carries no token.
  if (tokens === undefined || request.method === "OPTIONS" || OPEN_ROUTES.has(request.routeOptions.url)) return;
  const verdict = await tokens.judge(request.headers.authorization);
  if (verdict === "accepted") return;
  reply.header("www-authenticate", verdict === "missing" ? "Bearer" : 'Bearer error="invalid_token"');
  throw new HttpError(
    401,
    "unauthorized",
    verdict === "missing"
      ? "send authorization: Bearer TOKEN"
      : "this token is not, or no longer, one of this server's",
  );
}

/** What the page of an allowed origin may do, as its browser asks before it does so. */
export function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header("access-control-allow-methods", "GET, POST, DELETE")
    .header("access-control-allow-headers", "content-type, authorization, idempotency-key, last-event-id")
    .send();
}

/** The name or address in a Host header, in lower case, without port, brackets and final dot. */
function hostName(host: string | undefined): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "") ?? [];
  return (bracketed ?? plain)?.toLowerCase().replace(/\.$/, "");
}
