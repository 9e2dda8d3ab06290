/** The double behind a real socket, with TLS and a CA of its own. */

import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { Authority } from "@leasehold/test-certificates";
import type { HttpAnswer, HttpCall } from "./http.js";

export type Certificate = Readonly<{ key: string; cert: string; ca: string }>;

/** A CA of one day and a certificate for 127.0.0.1 by it. */
export async function makeCertificate(): Promise<Certificate> {
  const authority = await Authority.create("double-ca");
  return { ...(await authority.issue("127.0.0.1")), ca: authority.pair.cert };
}

export interface HttpsListenerOptions {
  readonly certificate: Certificate;
  /** 0, any free one, unless given. */
  readonly port?: number | undefined;
}

/** Of one call: an answer; or `undefined`, and the socket is left to whoever handles it. */
export type Handler = (call: HttpCall, socket: Socket) => HttpAnswer | undefined | Promise<HttpAnswer | undefined>;

export class HttpsListener {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that were made so far. */
  connections = 0;
  readonly port: number;
  readonly url: string;
  readonly ca: string;

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.ca = ca;
    this.port = (server.address() as AddressInfo).port;
    this.url = `https://127.0.0.1:${this.port}`;
    server.on("secureConnection", (socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  static async listen(handle: Handler, { certificate, port = 0 }: HttpsListenerOptions): Promise<HttpsListener> {
    const { key, cert, ca } = certificate;
    const server = createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        const call = {
          method: request.method ?? "",
          path: request.url ?? "",
          headers,
          body: Buffer.concat(chunks).toString(),
        };
        Promise.resolve(handle(call, request.socket)).then(
          (answer) => {
            if (answer === undefined) return;
            response.sendDate = false;
            response.writeHead(answer.status, answer.headers);
            response.end(answer.body);
          },
          () => request.socket.destroy(),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return new HttpsListener(server, ca);
  }

  /** Ends every connection, as a server that is killed does. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
