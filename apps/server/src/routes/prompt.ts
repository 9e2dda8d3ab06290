import type { FastifyInstance } from "fastify";
import { EventStream } from "../http/event-stream.js";
import { HttpError } from "../http/http-error.js";
import { readPromptBody } from "../http/request-body.js";
import { conductRun, type Outcome } from "../run/conduct-run.js";
import { isLoss } from "../run/run-writer.js";
import type { ServerParts } from "./server-parts.js";
import { requireSession, type SessionParams } from "./session-state.js";

/** Running a prompt, and stopping it. */
export function promptRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { runs, store, clock, log, metrics } = parts;

  app.post<SessionParams>("/v1/sessions/:id/prompt", async (request, reply) => {
    const { id } = request.params;
    const { prompt } = readPromptBody(request.body);
    await requireSession(id, store);
    const stream = new EventStream(reply, clock);
    const whole = runs.run(id, {}, async (run) => {
      const begun = clock.monotonic();
      let outcome: Outcome = "failed";
      try {
        outcome = await conductRun(run, prompt, parts, (news) => stream.send(news));
      } catch (error) {
        if (isLoss(error)) outcome = "lost";
        throw error;
      } finally {
        metrics.runEnded(outcome, clock.monotonic() - begun);
      }
    });
    // A client that goes away ends its stream and nothing else.
    const over = (error?: unknown): void => {
      if (stream.state !== "waiting" && error !== undefined) {
        log.warn({ event: "run.failed", sessionId: id, err: error }, "a run did not end well");
      }
      stream.end();
    };
    void whole.then(() => over(), over);
    // A refusal is an ordinary answer: it comes before anything was streamed.
    await Promise.race([stream.opened, whole]);
    return reply;
  });

  app.post<SessionParams>("/v1/sessions/:id/cancel", async ({ params: { id } }, reply) => {
    await requireSession(id, store);
    if ((await runs.cancel(id)) !== "none") return await reply.code(202).send({ id });
    throw new HttpError(409, "no_active_run", "nothing runs in this session");
  });
}
