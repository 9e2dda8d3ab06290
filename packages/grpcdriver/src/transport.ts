/**
 * What the driver needs of whatever carries its calls, and no more: grpc-js is bound to it in `grpc-transport.ts`, and a test
 * or a simulator brings one of its own.
 */

import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { LeaseFailure } from "../gen/leasehold/hold/v1/hold_pb.js";

/** gRPC's status codes, by number, as far as anybody here tells them apart. */
export const Status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export interface CallManner {
  /** Ms from now on after which the call is cut; the server is told. */
  readonly timeout: number;
  /** Waits for a connection, as long as the timeout allows, instead of failing at once. It never sends anything twice. */
  readonly waitForReady?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Watch<O> {
  onMessage(message: O): void;
  /** Once, and nothing after it; not after the watcher has ended the watch. Undefined: the server ended it in good order. */
  onEnd(failure: TransportFailure | undefined): void;
}

export interface Transport {
  /** Sends once at most. Rejects with `TransportFailure`. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    manner: CallManner,
  ): Promise<MessageShape<O>>;
  /** Begins a stream that lasts until the function returned is called, or it fails. It does not keep the program alive. */
  watch<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    watch: Watch<MessageShape<O>>,
  ): () => void;
  /** Ends what is under way. Resolves when no socket is left. */
  close(): Promise<void>;
}

/** A call that brought no answer, or an error for one. */
export class TransportFailure extends Error {
  override readonly name: string = "TransportFailure";
  /** A gRPC status code. */
  readonly status: number;
  /** The request was handed to a connection, so that the server may have applied it. False only on proof. */
  readonly sent: boolean;
  /** What a server that knows this protocol told of the failure. */
  readonly detail: LeaseFailure | undefined;

  constructor(
    status: number,
    message: string,
    options: { sent: boolean; detail?: LeaseFailure | undefined; cause?: unknown },
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.status = status;
    this.sent = options.sent;
    this.detail = options.detail;
  }
}
