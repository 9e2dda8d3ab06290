/** The transport that grpc-js is: one connection for calls, and a second one as soon as something is watched. */

import {
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { CallCredentials, type CallOptions, Metadata, type ServiceError } from "@grpc/grpc-js";
import { type Clock, hostClock } from "@leasehold/session-lease";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { type LeaseFailure, LeaseFailureSchema } from "../gen/leasehold/hold/v1/hold_pb.js";
import { Connection, type ConnectionOptions } from "./connection.js";
import { type CallManner, Status, type Transport, TransportFailure, type Watch } from "./transport.js";

export const STATUS_DETAILS = "grpc-status-details-bin";

/** Ms without any answer after which a connection is no longer trusted; less where the ttl is short. */
const SILENCE = 1_000;

export interface GrpcTransportOptions extends Omit<ConnectionOptions, "forWatches"> {
  readonly clock: Clock;
  /** The bearer token to show now. */
  readonly token?: (() => Promise<string>) | undefined;
}

export function grpcTransport(options: GrpcTransportOptions): Transport {
  return new GrpcTransport(options);
}

class GrpcTransport implements Transport {
  readonly #options: GrpcTransportOptions;
  readonly #silence: number;
  readonly #retired = new Set<Connection>();
  #calls: Connection;
  #watches: Connection | undefined;
  #closed = false;

  constructor(options: GrpcTransportOptions) {
    this.#options = options;
    this.#silence = Math.min(SILENCE, options.ttl / 10);
    this.#calls = new Connection({ ...options, forWatches: false });
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    { timeout, waitForReady = false, signal }: CallManner,
  ): Promise<MessageShape<O>> {
    if (this.#closed) return Promise.reject(notSent("the transport is closed"));
    if (signal?.aborted === true) return Promise.reject(notSent("cut before it was sent"));
    const { clock } = this.#options;
    const connection = this.#calls;
    const begun = clock.monotonic();
    const sending = { sent: false };
    connection.began();
    return new Promise((resolve, reject) => {
      const onAnswer = (error: ServiceError | null, reply: MessageShape<O> | undefined): void => {
        signal?.removeEventListener("abort", cut);
        const now = clock.monotonic();
        if (error !== null && isSilence(error)) this.#unanswered(connection, begun, now);
        else connection.answeredAt = now;
        connection.ended();
        if (error === null && reply !== undefined) resolve(reply);
        else reject(failureOf(error, sending.sent));
      };
      const call = connection.client.makeUnaryRequest(
        pathOf(method),
        (message: MessageShape<I>) => encode(method.input, message),
        (bytes) => fromBinary(method.output, bytes),
        request,
        new Metadata({ waitForReady }),
        { ...this.#calling(connection, sending), deadline: hostClock.wall() + timeout },
        onAnswer,
      );
      const cut = (): void => call.cancel();
      signal?.addEventListener("abort", cut, { once: true });
    });
  }

  watch<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    { onMessage, onEnd }: Watch<MessageShape<O>>,
  ): () => void {
    if (this.#watches === undefined || this.#watches.retired) {
      this.#watches = new Connection({ ...this.#options, forWatches: true });
    }
    const connection = this.#watches;
    const sending = { sent: false };
    connection.began();
    const stream = connection.client.makeServerStreamRequest(
      pathOf(method),
      (message: MessageShape<I>) => encode(method.input, message),
      (bytes) => fromBinary(method.output, bytes),
      request,
      new Metadata(),
      this.#calling(connection, sending),
    );
    let watching = true;
    const over = (): boolean => {
      const first = watching;
      watching = false;
      if (first) connection.ended();
      return first;
    };
    stream.on("data", (message: MessageShape<O>) => watching && onMessage(message));
    // After the watch has been ended from here too: an error that nobody hears would end the process.
    stream.on("error", (error) => over() && onEnd(failureOf(error as ServiceError, sending.sent)));
    stream.on("status", ({ code }) => code === Status.OK && over() && onEnd(undefined));
    return () => {
      if (over()) stream.cancel();
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const connections = [this.#calls, ...(this.#watches === undefined ? [] : [this.#watches]), ...this.#retired];
    await Promise.all(connections.map((connection) => connection.close()));
  }

  /**
   * Credentials are asked for once a connection was chosen, and before anything is sent on it. That is how it is known
   * whether a call was sent: grpc-js itself cannot tell for one that is cut from here (`getPeer` is "unknown" then). While
   * there is a connection, a call counts as sent from the start, and the question is saved.
   */
  #calling(connection: Connection, sending: { sent: boolean }): CallOptions {
    const { token } = this.#options;
    if (token === undefined && connection.isReady) {
      sending.sent = true;
      return {};
    }
    const credentials = CallCredentials.createFromMetadataGenerator((_, done) => {
      const send = (metadata: Metadata): void => {
        sending.sent = true;
        done(null, metadata);
      };
      if (token === undefined) send(new Metadata());
      else token().then((word) => send(bearer(word)), done);
    });
    return { credentials };
  }

  /** A connection can be dead for minutes before the system says so; a lease cannot wait that long. */
  #unanswered(connection: Connection, begun: number, now: number): void {
    if (connection !== this.#calls || connection.answeredAt >= begun || now - begun < this.#silence) return;
    this.#calls = new Connection({ ...this.#options, forWatches: false });
    this.#retired.add(connection);
    for (const each of this.#retired) if (each.isGone) this.#retired.delete(each);
    connection.retire();
  }
}

function bearer(word: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${word}`);
  return metadata;
}

const pathOf = ({ parent, name }: DescMethodUnary | DescMethodServerStreaming): string => `/${parent.typeName}/${name}`;

export function encode<I extends DescMessage>(schema: I, message: MessageShape<I>): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(schema, message);
  return Buffer.from(buffer, byteOffset, byteLength);
}

const isSilence = ({ code }: ServiceError): boolean => code === Status.DEADLINE_EXCEEDED || code === Status.CANCELLED;

const notSent = (message: string): TransportFailure => new TransportFailure(Status.CANCELLED, message, { sent: false });

function failureOf(error: ServiceError | null, sent: boolean): TransportFailure {
  if (error === null) return new TransportFailure(Status.INTERNAL, "an answer without a message", { sent });
  const detail = detailIn(error.metadata);
  return new TransportFailure(error.code, error.details, { sent, detail, cause: error });
}

/** A detail that cannot be read is none: the status still counts. */
function detailIn(metadata: Metadata | undefined): LeaseFailure | undefined {
  const [bytes] = metadata?.get(STATUS_DETAILS) ?? [];
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    for (const detail of fromBinary(StatusSchema, bytes).details) {
      const failure = anyUnpack(detail, LeaseFailureSchema);
      if (failure !== undefined) return failure;
    }
  } catch {
    // Written by somebody else, in another way.
  }
  return undefined;
}
