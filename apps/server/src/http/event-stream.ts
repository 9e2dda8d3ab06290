/**
 * A stream of server-sent events to one client.
 *
 * States
 * - waiting: nothing was sent; the request can still get an ordinary answer. Left by the first `send`.
 * - open:    events go out as they come, and a comment every 15 s so that nobody on the way thinks it dead.
 * - over:    ended by us, or the client is gone, or it reads so slowly that it was cut off. It can read the log instead.
 */

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "@leasehold/session-lease";
import type { FastifyReply } from "fastify";
import type { RunNews } from "../run/run-events.js";

const HEARTBEAT = 15_000;
/** Bytes that may wait for a client that does not read. */
const MAX_WAITING = 1_048_576;

export type StreamState = "waiting" | "open" | "over";

export class EventStream {
  /** Resolves at the first event. */
  readonly opened: Promise<void>;
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  #state: StreamState = "waiting";
  #heartbeat: Timer | undefined;
  #tellOpened: () => void = () => {};

  constructor(reply: FastifyReply, clock: Clock) {
    this.#reply = reply;
    this.#clock = clock;
    this.opened = new Promise((resolve) => {
      this.#tellOpened = resolve;
    });
  }

  get state(): StreamState {
    return this.#state;
  }

  send({ type, seq, body }: RunNews): void {
    if (this.#state === "waiting") this.#open();
    const id = seq === undefined ? "" : `id: ${seq}\n`;
    this.#write(`${id}event: ${type}\ndata: ${JSON.stringify(body)}\n\n`);
  }

  /** Idempotent. */
  end(): void {
    if (this.#state === "open") this.#raw.end();
    this.#over();
  }

  get #raw(): ServerResponse {
    return this.#reply.raw;
  }

  #open(): void {
    this.#state = "open";
    this.#reply.hijack();
    this.#raw.on("close", () => this.#over());
    // A client that is gone shows as an error of the socket; `close` follows.
    this.#raw.on("error", () => {});
    this.#raw.writeHead(200, {
      ...(this.#reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    this.#raw.flushHeaders();
    this.#beat();
    this.#tellOpened();
  }

  #beat(): void {
    this.#heartbeat = this.#clock.schedule(() => {
      this.#write(": still here\n\n");
      if (this.#state === "open") this.#beat();
    }, HEARTBEAT);
  }

  #write(text: string): void {
    if (this.#state !== "open") return;
    this.#raw.write(text);
    if (this.#raw.writableLength > MAX_WAITING) {
      this.#over();
      this.#raw.destroy();
    }
  }

  #over(): void {
    this.#state = "over";
    this.#heartbeat?.cancel();
  }
}
