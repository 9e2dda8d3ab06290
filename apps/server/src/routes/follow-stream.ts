import type { FastifyReply } from "fastify";
import { type Followed, followLog } from "../follow/follow-log.js";
import { EventStream, OF_A_FOLLOWER } from "../http/event-stream.js";
import type { ServerParts } from "./server-parts.js";

/** Answers with the log of a session from one place on. Rejects, nothing having been sent, for a session that is unknown. */
export async function streamLog(
  id: string,
  followed: Followed,
  reply: FastifyReply,
  { feeds, clock, log }: ServerParts,
): Promise<FastifyReply> {
  const stream = new EventStream(reply, clock, OF_A_FOLLOWER);
  const whole = feeds.use(id, (feed) => followLog(feed, stream, followed));
  whole.catch((error: unknown) => {
    if (stream.state !== "waiting") log.warn({ event: "follow.failed", sessionId: id, err: error });
  });
  await Promise.race([stream.opened, whole]);
  return reply;
}
