/**
 * One follower: replays a session's log from its place on, then goes along with it, up to the end of one run.
 *
 * Which run that is is settled when it begins: the last in the log, or, where that one had ended and been seen already, the
 * one that is about to begin. A run's end is its final event, whoever writes it: the run itself, or the next holder in its
 * stead. When the authority says that nobody holds the session and the log tells of no end, there will be none until
 * somebody takes the session again: the follower is told `lost`.
 */

import { type EventStream, frameOf } from "../http/event-stream.js";
import { isFinal } from "../run/run-events.js";
import type { FeedEvent } from "./recent-events.js";
import type { SessionFeed } from "./session-feed.js";

export interface Followed {
  /** The seq after which to begin. */
  readonly after: number;
  /** The run whose end ends it; undefined: the one that is about to begin. */
  readonly runId: string | undefined;
  /**
   * Called when nobody holds the session and the run has no end; whether the log may tell of one now. Absent: it is left as
   * it is.
   */
  readonly recover?: (() => Promise<boolean>) | undefined;
}

/**
 * Sends to the stream until the run, the session or the stream is over, and ends it. Never more than a few events wait for
 * a client that reads slowly: the log keeps the rest. Rejects when the log cannot be read; the stream is ended all the same.
 */
export async function followLog(feed: SessionFeed, stream: EventStream, followed: Followed): Promise<void> {
  const place = new Place(followed, stream);
  stream.open();
  try {
    while (!place.atEnd && stream.state !== "over") {
      const news = await feed.after(place.seq, stream.signal);
      if (typeof news !== "string") {
        place.pass(news);
        if (place.isPassedBy) return place.lose("unheld");
        await stream.behind;
      } else if (news === "deleted") {
        return place.lose("deleted");
      } else if (!(await place.mayGoOn())) {
        return place.lose("unheld");
      }
    }
  } catch (error) {
    if (!stream.signal.aborted) throw error;
  } finally {
    stream.end();
  }
}

class Place {
  seq: number;
  atEnd = false;
  /** The next run has come, so that this one's end is not in the log: its line was damaged. */
  isPassedBy = false;
  #hasBegun = false;
  readonly #stream: EventStream;
  readonly #recover: (() => Promise<boolean>) | undefined;
  #runId: string | undefined;
  /** How far this had come when a recovery was tried last. */
  #recoveredAt: number | undefined;

  constructor({ after, runId, recover }: Followed, stream: EventStream) {
    this.seq = after;
    this.#runId = runId;
    this.#recover = recover;
    this.#stream = stream;
  }

  /** Sends as much as the client takes: what is left of it is asked for again. Holds nothing, so that it need not be async. */
  pass(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (this.#hasBegun && event.runId !== this.#runId) {
        this.isPassedBy = true;
        return;
      }
      void this.#stream.send(event.frame);
      this.seq = event.seq;
      this.#runId ??= event.runId;
      this.#hasBegun ||= event.runId === this.#runId;
      this.atEnd = event.runId === this.#runId && isFinal(event);
      if (this.atEnd || this.#stream.behind !== undefined) return;
    }
  }

  /**
   * Whether anything more can come, now that nobody holds the session. Each recovery must bring something, or it would be
   * tried for ever.
   */
  async mayGoOn(): Promise<boolean> {
    if (this.#runId === undefined || this.#recoveredAt === this.seq) return false;
    this.#recoveredAt = this.seq;
    return (await this.#recover?.()) === true;
  }

  /** The run has no end, or is gone with its session. Where none began there is nothing to tell. */
  lose(reason: "unheld" | "deleted"): void {
    if (this.#runId === undefined && reason === "unheld") return;
    const runId = this.#runId === undefined ? {} : { runId: this.#runId };
    void this.#stream.send(frameOf({ type: "lost", body: { type: "lost", ...runId, reason } }));
  }
}
