/**
 * A stream of server-sent events to one client.
 *
 * States
 * - waiting: nothing was sent; the request can still get an ordinary answer. Left by `open`, or by the first `send`.
 * - open:    events go out as they come, and a comment every 15 s so that nobody on the way thinks it dead.
 * - behind:  more waits for the client than it may. Whoever sends is asked to wait, too. Left when the client has read it all (open),
 *            or has not in its time (over): an agent that is quick for a moment costs nobody the stream, and a client that
 *            does not read holds a run up for no more than that.
 * - over:    ended by us, or the client is gone, or it read so slowly that it was cut off. It can read the log instead. What it
 *            has not read yet when we end is kept for as long as that of any answer (`create-app.ts`).
 */

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "@leasehold/session-lease";
import type { FastifyReply } from "fastify";
import type { RunNews } from "../run/run-events.js";

const HEARTBEAT = 15_000;

export interface Slowness {
  /** Bytes that may wait for a client before it is behind. */
  readonly maxWaiting: number;
  /** Ms for a client that is behind to read all of it. */
  readonly patience: number;
}

/**
 * For the client whose prompt it is: it is told before the agent may go on, so it can hold up its run, though not for long.
 * A drain joins its runs for five seconds: this patience and an agent's grace fit in.
 */
export const OF_THE_RUN: Slowness = { maxWaiting: 1_048_576, patience: 1_000 };

/** For those who follow: they hold nobody up, but there may be a thousand of them, so little waits for each. */
export const OF_A_FOLLOWER: Slowness = { maxWaiting: 65_536, patience: 30_000 };

/** An event as it is sent. */
export function frameOf({ type, seq, body }: RunNews): Buffer {
  const id = seq === undefined ? "" : `id: ${seq}\n`;
  return Buffer.from(`${id}event: ${type}\ndata: ${JSON.stringify(body)}\n\n`);
}

/** `behind` is a part of `open`. */
export type StreamState = "waiting" | "open" | "over";

export class EventStream {
  /** Resolves when it has left `waiting` for `open`. */
  readonly opened: Promise<void>;
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  readonly #slowness: Slowness;
  #state: StreamState = "waiting";
  #heartbeat: Timer | undefined;
  #caughtUp: Promise<void> | undefined;
  readonly #ended = new AbortController();
  #tellOpened: () => void = () => {};

  constructor(reply: FastifyReply, clock: Clock, slowness: Slowness) {
    this.#reply = reply;
    this.#clock = clock;
    this.#slowness = slowness;
    this.opened = new Promise((resolve) => {
      this.#tellOpened = resolve;
    });
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Aborted when the stream is over. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Sends the head of the answer. Idempotent. */
  open(): void {
    if (this.#state !== "waiting") return;
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
    this.#tellOpened();
    // A client that has gone before there was anything to say to it is not told of any more.
    if (this.#raw.destroyed) this.#over();
    else this.#beat();
  }

  /** Settled when the stream is behind no more; undefined while it is not. */
  get behind(): Promise<void> | undefined {
    return this.#caughtUp;
  }

  /** Resolves when more may be sent; never rejects. What cannot wait may be sent all the same. */
  async send(frame: Uint8Array): Promise<void> {
    this.open();
    this.#write(frame);
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

  #beat(): void {
    this.#heartbeat = this.#clock.schedule(() => {
      this.#write(": still here\n\n");
      if (this.#state === "open") this.#beat();
    }, HEARTBEAT);
  }

  #write(what: string | Uint8Array): void {
    if (this.#state !== "open") return;
    this.#raw.write(what);
    if (this.#raw.writableLength > this.#slowness.maxWaiting) this.#caughtUp ??= this.#catchUp();
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
      }, this.#slowness.patience);
      this.#raw.on("drain", settle).on("close", settle);
    });
  }

  #over(): void {
    this.#state = "over";
    this.#heartbeat?.cancel();
    this.#ended.abort();
  }
}
