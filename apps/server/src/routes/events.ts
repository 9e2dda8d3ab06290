import type { FastifyInstance } from "fastify";
import { readEventsQuery } from "../http/request-body.js";
import { shownEvent } from "../run/run-events.js";
import type { ServerParts } from "./server-parts.js";
import type { SessionParams } from "./session-state.js";

/** Reading a session's log, a page at a time. */
export function eventRoutes(app: FastifyInstance, { store }: ServerParts): void {
  app.get<SessionParams>("/v1/sessions/:id/events", async (request) => {
    const { after, limit } = readEventsQuery(request.query);
    const page = await store.read(request.params.id, {
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    return { events: page.events.map(shownEvent), ...(page.next !== undefined && { next: page.next }) };
  });
}
