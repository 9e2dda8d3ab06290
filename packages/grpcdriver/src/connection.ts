/**
 * One gRPC channel of ours, over one connection at a time, with a hand on its sockets.
 *
 * States:
 * - *open*: takes calls; grpc-js connects, and connects again, as they come;
 * - *retired*: a call on it went without an answer for too long, so its connection may be dead without anybody having said
 *   so. It takes no more calls; those under way may still be answered; with the last of them its sockets are destroyed;
 * - *closed*: nothing is left, not even a socket.
 */

import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { ChannelCredentials, type ChannelOptions, Client, connectivityState } from "@grpc/grpc-js";
import type { Target } from "./target.js";

/** Ms between two attempts to connect: the first pause, and the longest there may be. */
const FIRST_BACKOFF = 100;
const LONGEST_BACKOFF = 5_000;
/** Ms: how soon a watched connection is known to be dead, where nothing else is said on it. */
const KEEPALIVE = { "grpc.keepalive_time_ms": 10_000, "grpc.keepalive_timeout_ms": 5_000 };

export interface ConnectionOptions {
  readonly target: Target;
  /** Absent: cleartext. */
  readonly tls: SecureContext | undefined;
  /** Ms; a lease that is renewed every third of it must have a connection again before it is lost. */
  readonly ttl: number;
  /** Streams that end nobody knows when. Its sockets do not keep the program alive, and are asked whether they live. */
  readonly forWatches: boolean;
}

export class Connection {
  readonly client: Client;
  /** Monotonic ms of the last answer of any kind. */
  answeredAt: number = Number.NEGATIVE_INFINITY;
  readonly #sockets = new Set<Socket>();
  #calls = 0;
  #retired = false;

  constructor({ target, tls, ttl, forWatches }: ConnectionOptions) {
    const credentials =
      tls === undefined ? ChannelCredentials.createInsecure() : ChannelCredentials.createFromSecureContext(tls);
    const watched = watchSockets(credentials, (socket) => this.#opened(socket), forWatches);
    const longest = Math.max(FIRST_BACKOFF, Math.min(LONGEST_BACKOFF, Math.floor(ttl / 4)));
    const options: ChannelOptions = {
      // A connection of this channel's own, not one that channels of the process share.
      "grpc.use_local_subchannel_pool": 1,
      // Nothing is sent twice, whatever a resolver has to say about it.
      "grpc.enable_retries": 0,
      "grpc.service_config_disable_resolution": 1,
      // What stays on this machine does not take the way through a proxy.
      "grpc.enable_http_proxy": target.local ? 0 : 1,
      "grpc.initial_reconnect_backoff_ms": FIRST_BACKOFF,
      "grpc.max_reconnect_backoff_ms": longest,
      ...(forWatches && KEEPALIVE),
    };
    this.client = new Client(target.uri, watched, options);
  }

  /** There is a connection, as far as anybody knows. */
  get isReady(): boolean {
    return this.client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  get retired(): boolean {
    return this.#retired;
  }

  /** Retired, and without a socket. */
  get isGone(): boolean {
    return this.#retired && this.#calls === 0 && this.#sockets.size === 0;
  }

  began(): void {
    this.#calls += 1;
  }

  ended(): void {
    this.#calls -= 1;
    if (this.#retired && this.#calls === 0) this.#destroySockets();
  }

  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.client.close();
    if (this.#calls === 0) this.#destroySockets();
  }

  /** Resolves when its sockets are gone. */
  async close(): Promise<void> {
    this.retire();
    const gone = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    this.#destroySockets();
    await Promise.all(gone);
  }

  #opened(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/**
 * The same credentials, and every socket that is connected with them is shown. grpc-js offers no other way to a socket:
 * without it, closing could not be waited for, and a stream would keep the program alive.
 */
function watchSockets(
  credentials: ChannelCredentials,
  onSocket: (socket: Socket) => void,
  unref: boolean,
): ChannelCredentials {
  const create = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...args) => {
    const connector = create(...args);
    const connect = connector.connect.bind(connector);
    connector.connect = async (socket) => {
      onSocket(socket);
      const connected = await connect(socket);
      if (unref) for (const each of [socket, connected.socket]) neverRef(each);
      return connected;
    };
    return connector;
  };
  return credentials;
}

/** A session of http2 refs its socket for as long as it has streams. */
function neverRef(socket: Socket): void {
  socket.unref();
  socket.ref = () => socket;
}
