/**
 * Requests that end: each has a deadline, is cut when it is over, and is tried again within it when the server is busy.
 *
 * States of a call: *sent*; *waiting* (the server was busy, or a read met trouble) until the next try would come after the
 * deadline; *answered*; *cut*. A write that may have been applied is never sent twice here: whoever asked looks first.
 */

import {
  type CallContext,
  type Clock,
  LeaseAbortedError,
  LeaseUnavailableError,
  type Moment,
  momentOf,
  pause,
} from "@leasehold/session-lease";
import {
  isFromKubernetes,
  isTrouble,
  isTurnedAway,
  isWrite,
  replyError,
  retryAfterMs,
  unanswered,
} from "./api-errors.js";
import { type ApiReply, type LeaseApi, type LeaseObject, type LeaseRequest, UnansweredError } from "./lease-api.js";
import type { ServerTime } from "./server-time.js";

/** Ms before the second try, unless the server says otherwise; doubled for each further one. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1000;

/** One request that was answered, or given up, for whoever counts. */
export type RequestNote = Readonly<{
  verb: LeaseRequest["verb"];
  /** HTTP status; undefined when no answer came. */
  status: number | undefined;
  /** Ms of monotonic time. */
  duration: number;
}>;

export interface LeaseCallsParts {
  readonly api: LeaseApi;
  readonly clock: Clock;
  readonly time: ServerTime;
  /** Ms. */
  readonly requestTimeout: number;
  readonly random: () => number;
  readonly onRequest?: ((note: RequestNote) => void) | undefined;
}

/** `serverAtLeast`: what the server's clock showed when the request was sent, or more; undefined if the reply does not tell. */
export type Answer = ApiReply & Readonly<{ sentAt: Moment; serverAtLeast: number | undefined }>;

/** Replies that a request may get without being wrong, for the caller to make sense of. */
const EXPECTED: Readonly<Record<LeaseRequest["verb"], readonly number[]>> = {
  get: [200, 404],
  create: [200, 201, 409],
  update: [200, 201, 404, 409],
  delete: [200, 404, 409],
  list: [200, 410],
};

export class LeaseCalls {
  readonly #parts: LeaseCallsParts;

  constructor(parts: LeaseCallsParts) {
    this.#parts = parts;
  }

  /** Rejects with an error of the port for every reply but those that `EXPECTED` names. `within`: ms, shorter than the usual. */
  async send(request: LeaseRequest, { signal }: CallContext, within?: number): Promise<Answer> {
    const { clock, requestTimeout, random } = this.#parts;
    const namespace = await this.#namespace();
    const limit = Math.min(requestTimeout, within ?? requestTimeout);
    const end = clock.monotonic() + limit;
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
      if (signal?.aborted === true) throw new LeaseAbortedError("the call was given up", { cause: signal.reason });
      const answer = await this.#once(request, signal, end - clock.monotonic(), namespace, limit);
      if (EXPECTED[request.verb].includes(answer.status) && isFromKubernetes(answer)) return answer;
      const error = replyError(request, answer, namespace);
      const again = isTurnedAway(answer) || (isTrouble(answer) && !isWrite(request));
      if (!again && !isTrouble(answer)) throw error;
      const asked = retryAfterMs(answer, Math.floor(clock.wall())) ?? wait * (0.5 + random() / 2);
      if (clock.monotonic() + asked >= end) throw error;
      // Who looks next, after a write that may have been applied, is held up as well: the server is in trouble.
      await pause(clock, asked, { keepAlive: true, ...(signal && { signal }) });
      if (!again) throw error;
    }
  }

  /**
   * Asks the time, with a proof if there can be one: an object that is only pretended to be made carries the time of the
   * server itself. Whoever may not create goes by the `Date` of being told so.
   */
  async learnTime(body: LeaseObject, context: CallContext): Promise<void> {
    const { time } = this.#parts;
    try {
      await this.send({ verb: "create", body, dryRun: true }, context);
    } catch (error) {
      if (!time.known) throw error;
    }
    if (time.wantsProof) time.putOffProof();
    if (!time.known) throw new LeaseUnavailableError("the API server does not tell the time: its replies have no Date");
  }

  async close(): Promise<void> {
    await this.#parts.api.close();
  }

  async #namespace(): Promise<string> {
    try {
      return await this.#parts.api.namespace();
    } catch (error) {
      if (!(error instanceof UnansweredError)) throw error;
      throw new LeaseUnavailableError(error.message, { cause: error, retryable: false });
    }
  }

  async #once(
    request: LeaseRequest,
    signal: AbortSignal | undefined,
    left: number,
    namespace: string,
    limit: number,
  ): Promise<Answer> {
    const { api, clock, time, onRequest } = this.#parts;
    const cut = new AbortController();
    let over = false;
    const onAbort = (): void => cut.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const timer = clock.schedule(
      () => {
        over = true;
        cut.abort();
      },
      Math.max(left, 1),
    );
    const sentAt = momentOf(clock);
    let status: number | undefined;
    try {
      const reply = await api.send(request, cut.signal);
      status = reply.status;
      const serverAtLeast = isFromKubernetes(reply) ? time.heard(timeIn(request, reply), sentAt) : undefined;
      return { ...reply, sentAt, serverAtLeast };
    } catch (error) {
      if (!(error instanceof UnansweredError)) throw error;
      throw unanswered(request, error, namespace, over ? limit : undefined);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
      onRequest?.({ verb: request.verb, status, duration: clock.monotonic() - sentAt.monotonic });
    }
  }
}

function timeIn(
  request: LeaseRequest,
  { status, date, body }: ApiReply,
): { date?: string | undefined; created?: string | null } {
  if (request.verb !== "create" || status >= 300) return { date };
  const created = (body as LeaseObject).metadata?.creationTimestamp;
  return typeof created === "string" ? { date, created } : { date };
}
