/** Where a server is reached: by its clients, and by its operators where they have a listener of their own. */

import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { BearerTokens } from "../http/bearer-tokens.js";
import { createApp } from "../http/create-app.js";
import { eventRoutes } from "../routes/events.js";
import { operationRoutes } from "../routes/operations.js";
import { promptRoutes } from "../routes/prompt.js";
import type { ServerParts } from "../routes/server-parts.js";
import { sessionRoutes } from "../routes/sessions.js";
import type { Opened } from "./opened.js";
import type { ServerOptions } from "./server-options.js";
import { StartError } from "./usage-error.js";

export interface Urls {
  /** "http://127.0.0.1:8080" */
  readonly url: string;
  /** Of the operators' own listener. */
  readonly adminUrl?: string;
}

type Routes = (app: FastifyInstance) => void;

/** Opens the listeners, guarded alike. Rejects with `StartError` when one cannot be had. */
export async function openListeners(parts: ServerParts, options: ServerOptions, opened: Opened): Promise<Urls> {
  const { log } = parts;
  const { host, port, admin, authTokenFile, allowedHosts, allowedOrigins } = options;
  const tokens = authTokenFile === undefined ? undefined : await readTokens(authTokenFile, parts);
  const guard = { allowedHosts, allowedOrigins, tokens };
  const forClients: Routes[] = [sessionRoutes, promptRoutes, eventRoutes].map((routes) => (app) => routes(app, parts));
  const forOperators: Routes = (app) => operationRoutes(app, parts);
  const open = async (routes: Routes[], at: { host: string; port: number }): Promise<string> => {
    const app = createApp(routes, { guard, log });
    opened.add(() => app.close());
    return await listen(app, at);
  };
  // The operators' first: whoever learns that the server listens can ask whether it is ready.
  const adminUrl = admin && (await open([forOperators], admin));
  const url = await open(admin === undefined ? [...forClients, forOperators] : forClients, { host, port });
  return { url, ...(adminUrl !== undefined && { adminUrl }) };
}

async function readTokens(
  path: string,
  { clock, log }: { clock: ServerParts["clock"]; log: Logger },
): Promise<BearerTokens> {
  try {
    return await BearerTokens.open(path, clock, log);
  } catch (error) {
    const { message } = error as Error;
    throw new StartError(`--auth-token-file ${path} cannot be used: ${message}`, { cause: error });
  }
}

async function listen(app: FastifyInstance, { host, port }: { host: string; port: number }): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "EADDRINUSE"
        ? `port ${port} is in use; choose another with --port, or 0 for any free one`
        : `cannot listen on ${host}, port ${port}: ${message}`;
    throw new StartError(why, { cause: error });
  }
  const bound = app.server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`;
}
