/**
 * A driver of the base protocol as others have written them, with nothing of this package but its messages: three calls,
 * four fields, one ttl, bare statuses. What is sent to it beyond that it does not know.
 */

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { type Lease, leaseErrorCode, type SessionLease } from "@leasehold/session-lease";
import { SessionLeaseService as Core } from "../gen/mecatl/driver/v1/session_lease_pb.js";

/** Ms by which its clock is ahead of the one it is asked by. */
export interface BaseServerOptions {
  readonly ahead?: number | undefined;
}

export class BaseServer {
  readonly #server = new Server();
  readonly #ahead: number;

  constructor(backend: SessionLease, { ahead = 0 }: BaseServerOptions = {}) {
    this.#ahead = ahead;
    this.#serve(Core.method.acquire, async ({ sessionId, owner }) =>
      this.#granted(await backend.acquire(sessionId, owner)),
    );
    this.#serve(Core.method.renew, async ({ lease }) => this.#granted(await backend.renew(hold(lease))));
    this.#serve(Core.method.release, async ({ lease }) => {
      await backend.release(hold(lease));
      return {};
    });
  }

  listen(address: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const credentials = ServerCredentials.createInsecure();
      this.#server.bindAsync(address, credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
    });
  }

  async close(): Promise<void> {
    this.#server.forceShutdown();
  }

  #granted({ sessionId, owner, token, expiry }: Lease): MessageInitShape<typeof Core.method.acquire.output> {
    return { lease: { sessionId, owner, token, expiry: timestampFromMs(expiry + this.#ahead) } };
  }

  #serve<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    run: (request: MessageShape<I>) => Promise<MessageInitShape<O>>,
  ): void {
    this.#server.register<MessageShape<I>, MessageShape<O>>(
      `/${method.parent.typeName}/${method.name}`,
      (call: { request: MessageShape<I> }, callback: (error: object | null, reply?: MessageShape<O>) => void) => {
        run(call.request).then(
          (reply) => callback(null, create(method.output, reply)),
          (error: unknown) => callback({ code: STATUS[leaseErrorCode(error) ?? ""] ?? status.UNKNOWN, details: "no" }),
        );
      },
      (reply) => Buffer.from(toBinary(method.output, reply)),
      (bytes) => fromBinary(method.input, bytes),
      "unary",
    );
  }
}

const STATUS: Readonly<Record<string, status>> = {
  held: status.FAILED_PRECONDITION,
  invalid: status.INVALID_ARGUMENT,
  unsupported: status.UNIMPLEMENTED,
  unavailable: status.UNAVAILABLE,
  corrupt: status.DATA_LOSS,
};

function hold(lease: { sessionId: string; owner: string; token: bigint } | undefined) {
  const { sessionId = "", owner = "", token = 0n } = lease ?? {};
  return { sessionId, owner, token };
}
