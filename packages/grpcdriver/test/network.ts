/**
 * A network in memory between clients and one served lease: every message is bytes, and stands still until a test moves it,
 * unless it is told to let them pass. A request that its sender has given up may still arrive.
 */

import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Clock, SessionLease } from "@leasehold/session-lease";
import { wireErrorOf } from "../src/failures.js";
import { type CallManner, Status, type Transport, TransportFailure, type Watch } from "../src/index.js";
import { type UnaryRoute, unaryRoutes } from "../src/lease-service.js";
import { tellOfChange, tellOfRequests } from "../src/lease-watches.js";
import { RecentChanges } from "../src/recent-changes.js";

/** One call, as far as it has got. */
export interface Packet {
  readonly client: string;
  /** "acquire" */
  readonly call: string;
  /** The request arrives; what the server answers to it waits to be taken back. Once, or again for a repetition. */
  arrive(): Promise<void>;
  /** The answer arrives, if there is one. */
  answer(): void;
  /** The client is told that the connection is lost. The request may arrive all the same. */
  lose(): void;
  readonly arrived: boolean;
  /** The client has been told how it ended. */
  readonly over: boolean;
}

export class Network {
  readonly packets: Packet[] = [];
  /** Lets everything pass at once. */
  open = true;
  readonly #lease: SessionLease;
  readonly #routes: readonly UnaryRoute[];
  readonly #recent: RecentChanges;

  constructor(lease: SessionLease, clock: Clock) {
    this.#lease = lease;
    this.#recent = new RecentChanges(clock);
    this.#routes = unaryRoutes(lease, this.#recent);
  }

  transport(client: string): Transport {
    return {
      unary: (method, request, manner) => this.#send(client, method, request, manner),
      watch: (method, request, watch) => this.#watch(method, request, watch),
      close: async () => undefined,
    };
  }

  #send<I extends DescMessage, O extends DescMessage>(
    client: string,
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    { signal }: CallManner,
  ): Promise<MessageShape<O>> {
    const bytes = toBinary(method.input, request);
    return new Promise((resolve, reject) => {
      let reply: (() => void) | undefined;
      const state = { arrived: false, over: false };
      const end = (settle: () => void): void => {
        if (state.over) return;
        state.over = true;
        settle();
      };
      const lost = (): void =>
        end(() => reject(new TransportFailure(Status.UNAVAILABLE, "the connection was lost", { sent: true })));
      const packet: Packet = {
        client,
        call: method.localName,
        get arrived() {
          return state.arrived;
        },
        get over() {
          return state.over;
        },
        arrive: async () => {
          state.arrived = true;
          const settled = await this.#serve(method.localName, bytes);
          reply ??= () =>
            settled instanceof Uint8Array ? resolve(fromBinary(method.output, settled)) : reject(settled);
        },
        answer: () => reply !== undefined && end(reply),
        lose: lost,
      };
      signal?.addEventListener("abort", () =>
        end(() => reject(new TransportFailure(Status.CANCELLED, "cut", { sent: true }))),
      );
      this.packets.push(packet);
      if (this.open) void packet.arrive().then(() => packet.answer());
    });
  }

  async #serve(call: string, bytes: Uint8Array): Promise<Uint8Array | TransportFailure> {
    const route = this.#routes.find(({ method }) => method.localName === call);
    if (route === undefined) return new TransportFailure(Status.UNIMPLEMENTED, "no such call", { sent: true });
    try {
      const served = { signal: new AbortController().signal, admission: { seesOwners: true } };
      const reply = await route.run(fromBinary(route.method.input, bytes), served);
      return toBinary(route.method.output, create(route.method.output, reply));
    } catch (error) {
      const { status, message, detail } = wireErrorOf(error);
      return new TransportFailure(status, message, { sent: true, detail });
    }
  }

  #watch<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    { onMessage, onEnd }: Watch<MessageShape<O>>,
  ): () => void {
    const cut = new AbortController();
    const told = {
      write: (message: object): boolean => {
        if (!cut.signal.aborted) onMessage(create(method.output, message as never));
        return true;
      },
    };
    const { sessionId = "" } = request as { sessionId?: string };
    const telling =
      method.localName === "waitForChange"
        ? tellOfChange(this.#lease, sessionId, this.#recent, told, cut.signal)
        : tellOfRequests(this.#lease, told, cut.signal);
    telling.then(
      () => !cut.signal.aborted && onEnd(undefined),
      (error) => {
        if (cut.signal.aborted) return;
        const { status, message, detail } = wireErrorOf(error);
        onEnd(new TransportFailure(status, message, { sent: true, detail }));
      },
    );
    return () => cut.abort();
  }
}
