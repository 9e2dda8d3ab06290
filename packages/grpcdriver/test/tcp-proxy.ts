/** A TCP proxy on loopback, driven by verbs. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class TcpProxy {
  /** Connections that were accepted so far. */
  accepted = 0;
  readonly #server: Server;
  /** Those that are not frozen. */
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #sockets = new Set<Socket>();
  readonly #near = new Set<Socket>();
  readonly #port: number;
  #silent = false;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on("connection", (near) => {
      this.accepted += 1;
      this.#near.add(near);
      near.once("close", () => this.#near.delete(near));
      const far = connect(this.#port, "127.0.0.1");
      near.setNoDelay();
      far.setNoDelay();
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      for (const [from, to] of [pair, [far, near] as const]) {
        this.#sockets.add(from);
        from.on("data", (bytes) => this.#pairs.has(pair) && to.write(bytes));
        from.on("error", () => to.destroy());
        from.on("close", () => to.destroy());
      }
      if (this.#silent) this.freeze();
    });
  }

  static async before(port: number): Promise<TcpProxy> {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    return new TcpProxy(server, port);
  }

  /** Connections that clients hold open. */
  get connected(): number {
    return this.#near.size;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** What comes on the connections that are open now is swallowed; nobody is told. New ones work. */
  freeze(): void {
    this.#pairs.clear();
  }

  /** Every connection, now and later, is accepted and silent. */
  silence(): void {
    this.#silent = true;
    this.freeze();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
