/** An answer that is not a success: `{ code, message, retryAfterMs? }` with its status. The message is for the client's developer. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, code: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export const badRequest = (message: string): HttpError => new HttpError(400, "invalid_request", message);

export const unknownSession = (): HttpError => new HttpError(404, "unknown_session", "there is no such session");
