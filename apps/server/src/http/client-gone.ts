import type { FastifyReply } from "fastify";

/** Why a request is given up: nobody is left to be answered. */
export class ClientGoneError extends Error {
  constructor() {
    super("the client has gone");
    this.name = "ClientGoneError";
  }
}

/** Aborted when the answer is complete, or can no longer reach the client. */
export function whenGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const abort = (): void => gone.abort(new ClientGoneError());
  raw.once("close", abort);
  if (raw.destroyed) abort();
  return gone.signal;
}
