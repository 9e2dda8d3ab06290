import { DrainError, type RunOptions } from "@leasehold/session-runs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { whenGone } from "../http/client-gone.js";
import { EventStream, frameOf, OF_THE_RUN } from "../http/event-stream.js";
import { HttpError } from "../http/http-error.js";
import { type PromptBody, readPromptBody } from "../http/request-body.js";
import { conductRun, type Outcome } from "../run/conduct-run.js";
import { AlreadyBegunError } from "../run/once.js";
import { recoverRun } from "../run/recover.js";
import { MARK_KEY, type RequestKey, readRequestKey } from "../run/request-key.js";
import { isLoss } from "../run/run-writer.js";
import { streamLog } from "./follow-stream.js";
import type { ServerParts } from "./server-parts.js";
import { isHeld, requireSession, type SessionParams } from "./session-state.js";

/** Running a prompt, and stopping it. */
export function promptRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { runs, store, once, waitingRoom, isDraining } = parts;

  app.post<SessionParams>("/v1/sessions/:id/prompt", async (request, reply) => {
    const { id } = request.params;
    const body = readPromptBody(request.body);
    const key = readRequestKey(request.headers["idempotency-key"], body);
    if (isDraining()) throw new DrainError();
    await requireSession(id, store);
    const gone = whenGone(reply);
    const begin = (): Promise<void> => beginRun(id, body, key, { reply, gone }, parts);
    const begun = await waitingRoom.hold(body.prompt, async () =>
      key === undefined ? await begin() : await once.begin(id, key, begin, gone),
    );
    if (begun === undefined) return reply;
    reply.header("idempotent-replayed", "true");
    const recover = (): Promise<boolean> => recoverRun(id, runs, parts);
    return await streamLog(id, { after: begun.seq - 1, runId: begun.runId, recover }, reply, parts);
  });

  app.post<SessionParams>("/v1/sessions/:id/cancel", async ({ params: { id } }, reply) => {
    await requireSession(id, store);
    // A holder that is proved to be gone is beyond asking. One that finds nothing to stop is about to let go by itself.
    if (!(await isHeld(id, parts))) throw new HttpError(409, "no_active_run", "nothing runs in this session");
    await runs.cancel(id);
    return await reply.code(202).send({ id });
  });
}

interface Client {
  readonly reply: FastifyReply;
  readonly gone: AbortSignal;
}

/**
 * Resolves when the run stands in the log, from when on it streams to the client, and lasts whether or not that is there to
 * read. Rejects when it was refused: then nothing was sent.
 */
async function beginRun(
  id: string,
  { prompt, on_busy, wait_ms }: PromptBody,
  request: RequestKey | undefined,
  { reply, gone }: Client,
  parts: ServerParts,
): Promise<void> {
  const { runs, clock, log, metrics } = parts;
  const stream = new EventStream(reply, clock, OF_THE_RUN);
  // A client that leaves the queue leaves it; one whose run has begun ends its stream and nothing else.
  const queued = new AbortController();
  const leave = (): void => queued.abort(gone.reason);
  gone.addEventListener("abort", leave);
  if (gone.aborted) leave();
  const options: RunOptions = {
    onBusy: on_busy,
    waitMs: wait_ms,
    signal: queued.signal,
    metadata: request && { [MARK_KEY]: request.mark },
  };
  const whole = runs.run(id, options, async (run) => {
    gone.removeEventListener("abort", leave);
    const began = clock.monotonic();
    const ended = (outcome: Outcome): void => metrics.runEnded(outcome, clock.monotonic() - began);
    try {
      ended(await conductRun(run, { prompt, request }, parts, (news) => stream.send(frameOf(news))));
    } catch (error) {
      if (!(error instanceof AlreadyBegunError)) ended(isLoss(error) ? "lost" : "failed");
      throw error;
    }
  });
  const over = (error?: unknown): void => {
    if (stream.state !== "waiting" && error !== undefined) {
      log.warn({ event: "run.failed", sessionId: id, err: error }, "a run did not end well");
    }
    stream.end();
  };
  void whole.then(() => over(), over);
  // A refusal is an ordinary answer: it comes before anything was streamed.
  await Promise.race([stream.opened, whole]);
}
