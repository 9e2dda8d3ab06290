import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, connect as tlsConnect } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { Authority, type Pair } from "../src/index.js";

/** Whether a client of this authority, shown this certificate, speaks with a server that wants one of it, too. */
async function trusts(authority: Authority, server: Pair, client: Pair): Promise<boolean> {
  const listening = createServer({ ...server, ca: authority.pair.cert, requestCert: true }, (socket) =>
    socket.end("hello"),
  );
  listening.on("tlsClientError", () => undefined);
  onTestFinished(() => void listening.close());
  await once(listening.listen(0, "127.0.0.1"), "listening");
  const { port } = listening.address() as AddressInfo;
  const socket = tlsConnect({ port, host: "127.0.0.1", servername: "localhost", ca: authority.pair.cert, ...client });
  try {
    let text = "";
    for await (const chunk of socket) text += chunk;
    return text === "hello";
  } catch {
    return false;
  }
}

test("an authority's own are trusted on both sides, and a stranger's are not", async () => {
  const [own, stranger] = [await Authority.create("own"), await Authority.create("stranger")];
  const [server, client, impostor] = [
    await own.issue("server"),
    await own.issue("client"),
    await stranger.issue("server"),
  ];
  expect(await trusts(own, server, client)).toBe(true);
  expect(await trusts(own, impostor, client)).toBe(false);
  expect(await trusts(own, server, impostor)).toBe(false);
});
