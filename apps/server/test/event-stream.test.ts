import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { FakeClock } from "@leasehold/conformance";
import Fastify, { type FastifyReply } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { EventStream, frameOf, OF_A_FOLLOWER, OF_THE_RUN } from "../src/http/event-stream.js";

/** A stream to a client on loopback that reads when it is told to. */
async function streamToClient(slowness = OF_THE_RUN) {
  const clock = new FakeClock();
  const app = Fastify({ forceCloseConnections: true });
  // In an array: a reply has a `then`, and a promise would wait for the answer itself.
  let onReply: (reply: [FastifyReply]) => void = () => {};
  const replied = new Promise<[FastifyReply]>((resolve) => {
    onReply = resolve;
  });
  app.get("/", (_, reply) => onReply([reply]));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const [reply] = await replied;
  return { clock, client, reply, stream: new EventStream(reply, clock, slowness) };
}

const news = (text: string) => frameOf({ type: "output", seq: 7, body: { text } });

it("sends events as they come, and a comment every 15 s", async () => {
  const { clock, client, stream } = await streamToClient();
  let seen = "";
  client.on("data", (chunk) => {
    seen += chunk;
  });
  void stream.send(news("a"));
  await stream.opened;
  await clock.advance(14_999);
  void stream.send(frameOf({ type: "lease_lost", body: {} }));
  await clock.advance(1);
  await clock.advance(15_000);
  stream.end();
  void stream.send(news("too late"));
  while (!seen.endsWith("0\r\n\r\n")) await once(client, "data");
  expect(seen).toContain('id: 7\nevent: output\ndata: {"text":"a"}\n\n');
  expect(seen).toContain("event: lease_lost\ndata: {}\n\n");
  expect(seen).not.toContain("id: 7\nevent: lease_lost");
  expect(seen.match(/^: /gm)).toHaveLength(2);
  expect(seen).not.toContain("too late");
});

/** Writes pieces as fast as it may until `count` are written or the stream is over; resolves to the most that waited. */
async function writeMuch(
  { reply, stream }: Awaited<ReturnType<typeof streamToClient>>,
  count: number,
): Promise<number> {
  let most = 0;
  for (let i = 0; i < count && stream.state !== "over"; i++) {
    const sent = stream.send(news(PIECE));
    most = Math.max(most, reply.raw.writableLength);
    await sent;
  }
  return most;
}

const PIECE = "x".repeat(65_536);
const BOUND = 1_048_576 + 2 * PIECE.length;

it("makes its writer wait for a client that reads, and loses nothing", async () => {
  const parts = await streamToClient();
  let read = 0;
  parts.client.on("data", (chunk) => {
    read += chunk.length;
  });
  expect(await writeMuch(parts, 256)).toBeLessThan(BOUND);
  while (read < 256 * PIECE.length) await once(parts.client, "data");
  expect(parts.stream.state).toBe("open");
});

it("cuts off a client that is behind for a second, and holds a bounded amount for it", async () => {
  const parts = await streamToClient();
  const { client, clock, reply, stream } = parts;
  client.pause();
  // What the kernel takes is bounded too; a client that reads nothing cannot keep this going.
  const writing = writeMuch(parts, 4_096);
  await expect.poll(() => reply.raw.writableLength).toBeGreaterThan(1_048_576);
  await clock.advance(999);
  expect(stream.state).toBe("open");
  await clock.advance(1);
  expect(stream.state).toBe("over");
  expect(reply.raw.destroyed).toBe(true);
  expect(await writing).toBeLessThan(BOUND);
});

it("lets little wait for one who follows, and gives it time", async () => {
  const parts = await streamToClient(OF_A_FOLLOWER);
  const { client, clock, reply, stream } = parts;
  client.pause();
  const writing = writeMuch(parts, 4_096);
  await expect.poll(() => stream.behind !== undefined).toBe(true);
  await clock.advance(29_999);
  expect(stream.state).toBe("open");
  await clock.advance(1);
  expect(stream.state).toBe("over");
  expect(reply.raw.destroyed).toBe(true);
  expect(await writing).toBeLessThan(65_536 + 2 * PIECE.length);
});

it("is over at once when its client had gone before it was opened", async () => {
  const { client, clock, reply, stream } = await streamToClient();
  client.destroy();
  await once(reply.raw, "close");
  void stream.send(news("a"));
  await stream.opened;
  expect(stream.state).toBe("over");
  expect(stream.signal.aborted).toBe(true);
  expect(clock.pending).toBe(0);
});

it("is over when its client is gone, and sending on harms nobody", async () => {
  const { client, reply, stream } = await streamToClient();
  void stream.send(news("a"));
  client.destroy();
  await once(reply.raw, "close");
  expect(stream.state).toBe("over");
  void stream.send(news("b"));
  stream.end();
});
