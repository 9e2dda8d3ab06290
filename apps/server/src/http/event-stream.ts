/**
 * A stream of server-sent events to one client.
 *
 * States
 * - waiting: nothing was sent; the request can still get an ordinary answer. Left by the first `send`.
 * - open:    events go out as they come, and a comment every 15 s so that nobody on the way thinks it dead.
 * - behind:  more waits for the client than it may. Whoever sends is asked to wait, too. Left when the client has read it all (open),
 *            or has not in its time (over): an agent that is quick for a moment costs nobody the stream, and a client that
 *            does not read holds a run up for no more than that.
 * - over:    ended by us, or the client is gone, or it read so slowly that it was cut off. It can read the log instead.
 */

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "@leasehold/session-lease";
import type { FastifyReply } from "fastify";
import type { RunNews } from "../run/run-events.js";

const HEARTBEAT = 15_000;
/** Bytes that may wait for a client before it is behind. */
const MAX_WAITING = 1_048_576;
/** Ms for a client that is behind to read all of it. A drain joins its runs for five seconds: this and an agent's grace fit in. */
const PATIENCE = 1_000;

/** `behind` is a part of `open`. */
export type StreamState = "waiting" | "open" | "over";

export class EventStream {
  /** Resolves at the first event. */
  readonly opened: Promise<void>;
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  #state: StreamState = "waiting";
  #heartbeat: Timer | undefined;
  /** Settled when the stream is behind no more. */
  #caughtUp: Promise<void> | undefined;
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

  /** Resolves when more may be sent; never rejects. News that cannot wait may be sent all the same. */
  async send({ type, seq, body }: RunNews): Promise<void> {
    if (this.#state === "waiting") this.#open();
    const id = seq === undefined ? "" : `id: ${seq}\n`;
    this.#write(`${id}event: ${type}\ndata: ${JSON.stringify(body)}\n\n`);
    await this.#caughtUp;
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
    if (this.#raw.writableLength > MAX_WAITING) this.#caughtUp ??= this.#catchUp();
  }

  #catchUp(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        patience.cancel();
        this.#raw.off("drain", settle).off("close", settle);
        this.#caughtUp = undefined;
        resolve();
      };
      const patience = this.#clock.schedule(() => {
        this.#over();
        this.#raw.destroy();
        settle();
      }, PATIENCE);
      this.#raw.on("drain", settle).on("close", settle);
    });
  }

  #over(): void {
    this.#state = "over";
    this.#heartbeat?.cancel();
  }
}
