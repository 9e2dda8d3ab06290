import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { FakeClock } from "@leasehold/conformance";
import Fastify, { type FastifyReply } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { EventStream } from "../src/http/event-stream.js";

/** A stream to a client on loopback that reads when it is told to. */
async function streamToClient() {
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
  return { clock, client, reply, stream: new EventStream(reply, clock) };
}

const news = (text: string) => ({ type: "output", seq: 7, body: { text } });

it("sends events as they come, and a comment every 15 s", async () => {
  const { clock, client, stream } = await streamToClient();
  let seen = "";
  client.on("data", (chunk) => {
    seen += chunk;
  });
  stream.send(news("a"));
  await stream.opened;
  await clock.advance(14_999);
  stream.send({ type: "lease_lost", body: {} });
  await clock.advance(1);
  await clock.advance(15_000);
  stream.end();
  stream.send(news("too late"));
  while (!seen.endsWith("0\r\n\r\n")) await once(client, "data");
  expect(seen).toContain('id: 7\nevent: output\ndata: {"text":"a"}\n\n');
  expect(seen).toContain("event: lease_lost\ndata: {}\n\n");
  expect(seen).not.toContain("id: 7\nevent: lease_lost");
  expect(seen.match(/^: /gm)).toHaveLength(2);
  expect(seen).not.toContain("too late");
});

it("cuts off a client that does not read, and holds a bounded amount for it", async () => {
  const { client, reply, stream } = await streamToClient();
  client.pause();
  const piece = "x".repeat(65_536);
  let most = 0;
  // What the kernel takes is bounded too; a client that reads nothing cannot keep this going.
  for (let i = 0; i < 4_096 && stream.state !== "over"; i++) {
    stream.send(news(piece));
    most = Math.max(most, reply.raw.writableLength);
    if (i % 16 === 0) await new Promise(setImmediate);
  }
  expect(stream.state).toBe("over");
  expect(reply.raw.destroyed).toBe(true);
  expect(most).toBeLessThan(1_048_576 + 2 * piece.length);
});

it("is over when its client is gone, and sending on harms nobody", async () => {
  const { client, reply, stream } = await streamToClient();
  stream.send(news("a"));
  client.destroy();
  await once(reply.raw, "close");
  expect(stream.state).toBe("over");
  stream.send(news("b"));
  stream.end();
});
