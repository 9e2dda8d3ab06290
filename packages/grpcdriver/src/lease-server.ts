/**
 * A lease, served over gRPC.
 *
 * States of a call:
 * - *arrived*: its caller is judged. One whose deadline has passed meanwhile is answered so, and not run;
 * - *running*: the lease has been asked. The client's cancelling, its deadline and the end of the server abort the question,
 *   and whatever was granted to a client that no longer listens is given back by the lease itself;
 * - *answered*.
 *
 * States of a server: *listening*, possibly at several addresses; *closing*: nothing new is taken, streams have ended, calls
 * under way may still be answered; *closed*: when they were, or when the grace is over, whether or not a client reads.
 */

import { createSecureContext } from "node:tls";
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerErrorResponse,
  type ServerUnaryCall,
  type ServerWritableStream,
} from "@grpc/grpc-js";
import {
  type Clock,
  hostClock,
  LeaseAbortedError,
  LeaseInvalidError,
  LeaseUnavailableError,
  pause,
  type SessionLease,
} from "@leasehold/session-lease";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { SessionLeasePowersService as PowersService } from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import { LeaseFailureSchema } from "../gen/leasehold/hold/v1/hold_pb.js";
import { type Access, AccessDeniedError, type Admission, OPEN_ACCESS, type Operation } from "./access.js";
import { wireErrorOf } from "./failures.js";
import { encode, STATUS_DETAILS } from "./grpc-transport.js";
import { replyOf, type UnaryRoute, unaryRoutes } from "./lease-service.js";
import { tellOfChange, tellOfRequests } from "./lease-watches.js";
import { RecentChanges } from "./recent-changes.js";
import { isLoopback } from "./target.js";
import type { ServerTls } from "./tls.js";
import { Status } from "./transport.js";

/** Bytes of a request at most: ids, notes and metadata at their largest, and room for what is not known here. */
const MAX_REQUEST = 65_536;
/** Ms: a client that is gone without a word is noticed after both. */
const KEEPALIVE = { "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 10_000 };
/** Ms for the last sockets, once they have been destroyed. */
const FORCED = 1_000;

export interface LeaseServerOptions {
  /** Closed by whoever opened it, after the server. */
  readonly lease: SessionLease;
  /** Absent: cleartext, which is served on loopback and Unix sockets only. */
  readonly tls?: ServerTls | undefined;
  /** Who may do what; everybody everything unless given. */
  readonly access?: Access | undefined;
  /** Adds further services to the gRPC server: health, reflection. */
  readonly addServices?: ((server: Server) => void) | undefined;
  /** Hears of every call that was answered. Must not throw. */
  readonly onCall?: ((call: CallReport) => void) | undefined;
  readonly clock?: Clock | undefined;
}

export interface CallReport {
  /** "/mecatl.driver.v1.SessionLeaseService/Renew" */
  readonly path: string;
  /** A gRPC status code. */
  readonly status: number;
  /** Ms from its arrival to its answer. */
  readonly ms: number;
  /** What went wrong, unless the status is 0. */
  readonly error?: unknown;
}

/** Serves a lease to clients elsewhere. */
export class LeaseServer {
  readonly #options: LeaseServerOptions;
  readonly #clock: Clock;
  readonly #access: Access;
  readonly #credentials: ServerCredentials;
  readonly #server: Server = new Server({ "grpc.max_receive_message_length": MAX_REQUEST, ...KEEPALIVE });
  readonly #ending = new AbortController();
  #closed: Promise<void> | undefined;

  /** Throws `LeaseInvalidError` for certificates that cannot be used. */
  constructor(options: LeaseServerOptions) {
    this.#options = options;
    this.#credentials = options.tls === undefined ? ServerCredentials.createInsecure() : tlsCredentials(options.tls);
    this.#clock = options.clock ?? hostClock;
    this.#access = options.access ?? OPEN_ACCESS;
    const recent = new RecentChanges(this.#clock);
    for (const route of unaryRoutes(options.lease, recent)) this.#addUnary(route);
    const { lease } = options;
    this.#addStream(PowersService.method.waitForChange, "wait", ({ sessionId }, stream, signal) =>
      tellOfChange(lease, sessionId, recent, told(PowersService.method.waitForChange.output, stream), signal),
    );
    this.#addStream(PowersService.method.watchRequests, "watch-requests", (_, stream, signal) =>
      tellOfRequests(lease, told(PowersService.method.watchRequests.output, stream), signal),
    );
    options.addServices?.(this.#server);
  }

  /**
   * Listens at "HOST:PORT" (port 0: any free one) or "unix:PATH". Resolves with the port, 0 for a socket. Rejects with
   * `LeaseInvalidError` for cleartext that would leave this machine, and with `unavailable` when the address cannot be had.
   */
  async listen(address: string): Promise<number> {
    const { tls } = this.#options;
    const host = /^\[?(.*?)\]?:\d+$/.exec(address)?.[1] ?? "";
    if (tls === undefined && !address.startsWith("unix:") && !isLoopback(host)) {
      throw new LeaseInvalidError(
        `${address} can be reached from other machines, and without TLS everybody on the way could read and forge leases: ` +
          "set tls, or listen on 127.0.0.1",
      );
    }
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(address, this.#credentials, (error, port) => {
        if (error === null) resolve(port);
        else reject(new LeaseUnavailableError(`cannot listen at ${address}: ${error.message}`, { cause: error }));
      });
    });
  }

  /** Ends streams at once and lets calls under way be answered within `grace` ms. Idempotent; the first grace counts. */
  close(grace = 5_000): Promise<void> {
    this.#closed ??= this.#close(grace);
    return this.#closed;
  }

  async #close(grace: number): Promise<void> {
    this.#ending.abort(new LeaseUnavailableError("the server is going down"));
    const over = new AbortController();
    const drained = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    const within = (ms: number): Promise<void> => pause(this.#clock, ms, { signal: over.signal, keepAlive: true });
    await Promise.race([drained, within(grace)]);
    this.#server.forceShutdown();
    await Promise.race([drained, within(FORCED)]);
    over.abort();
  }

  #addUnary(route: UnaryRoute): void {
    const { method, operation } = route;
    const path = `/${method.parent.typeName}/${method.name}`;
    const handler: handleUnaryCall<Uint8Array, MessageShape<DescMessage>> = (call, callback) => {
      const begun = this.#clock.monotonic();
      const cut = new AbortController();
      let answered = false;
      // Every call is "cancelled" in the end, once it has been answered.
      call.on("cancelled", () => answered || cut.abort(gone()));
      const answer = async (): Promise<MessageShape<DescMessage>> => {
        const admission = await this.#admit(operation, call);
        const request = decode(method.input, call.request);
        checkInTime(call, cut.signal);
        return replyOf(route, await route.run(request, { signal: cut.signal, admission }));
      };
      answer().then(
        (reply) => {
          answered = true;
          callback(null, reply);
          this.#report(path, begun, Status.OK);
        },
        (error: unknown) => {
          const response = responseOf(error);
          answered = true;
          callback(response);
          this.#report(path, begun, response.code ?? Status.UNKNOWN, error);
        },
      );
    };
    this.#server.register(
      path,
      handler,
      (reply) => encode(method.output, reply),
      (bytes) => bytes,
      "unary",
    );
  }

  #addStream<I extends DescMessage, O extends DescMessage>(
    method: { parent: { typeName: string }; name: string; input: I; output: O },
    operation: Operation,
    run: (
      request: MessageShape<I>,
      stream: ServerWritableStream<Uint8Array, MessageShape<DescMessage>>,
      signal: AbortSignal,
    ) => Promise<void>,
  ): void {
    const path = `/${method.parent.typeName}/${method.name}`;
    const handler: handleServerStreamingCall<Uint8Array, MessageShape<DescMessage>> = (stream) => {
      const begun = this.#clock.monotonic();
      const cut = new AbortController();
      const end = (): void => {
        if (!cut.signal.aborted) cut.abort(this.#ending.signal.reason ?? gone());
      };
      stream.on("cancelled", end);
      this.#ending.signal.addEventListener("abort", end, { once: true });
      const tell = async (): Promise<void> => {
        await this.#admit(operation, stream);
        const request = decode(method.input, stream.request);
        if (this.#ending.signal.aborted) end();
        checkInTime(stream, cut.signal);
        await run(request, stream, cut.signal);
      };
      tell()
        .then(
          () => {
            stream.end();
            this.#report(path, begun, Status.OK);
          },
          (error: unknown) => {
            const response = responseOf(this.#ending.signal.aborted ? this.#ending.signal.reason : error);
            stream.emit("error", response);
            this.#report(path, begun, response.code ?? Status.UNKNOWN, error);
          },
        )
        .finally(() => this.#ending.signal.removeEventListener("abort", end));
    };
    this.#server.register(
      path,
      handler,
      (reply) => encode(method.output, reply as MessageShape<O>),
      (bytes) => bytes,
      "serverStream",
    );
  }

  async #admit(operation: Operation | undefined, { metadata }: { metadata: Metadata }): Promise<Admission> {
    const [authorization] = metadata.get("authorization");
    return this.#access.admit(operation, typeof authorization === "string" ? authorization : undefined);
  }

  #report(path: string, begun: number, status: number, error?: unknown): void {
    this.#options.onCall?.({
      path,
      status,
      ms: this.#clock.monotonic() - begun,
      ...(status !== Status.OK && { error }),
    });
  }
}

function tlsCredentials({ cert, key, clientCa }: ServerTls): ServerCredentials {
  const pem = (text: string | Buffer): Buffer => Buffer.from(text);
  const ca = clientCa === undefined ? null : pem(clientCa);
  try {
    createSecureContext({ cert, key, ...(ca !== null && { ca }) });
    return ServerCredentials.createSsl(ca, [{ cert_chain: pem(cert), private_key: pem(key) }], ca !== null);
  } catch (error) {
    throw new LeaseInvalidError(`the certificates for TLS cannot be used: ${String(error)}`, { cause: error });
  }
}

function decode<I extends DescMessage>(schema: I, bytes: Uint8Array): MessageShape<I> {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    throw new LeaseInvalidError(`the request is no ${schema.typeName}`, { cause: error });
  }
}

/** A client that waits no longer is not served: what it would be granted would only have to be given back. */
function checkInTime(
  call: Pick<ServerUnaryCall<unknown, unknown>, "getDeadline" | "cancelled">,
  cut: AbortSignal,
): void {
  cut.throwIfAborted();
  const deadline = call.getDeadline();
  if (call.cancelled || (deadline !== Number.POSITIVE_INFINITY && Number(deadline) <= hostClock.wall())) throw gone();
}

const gone = (): LeaseAbortedError => new LeaseAbortedError("the client waits no longer");

function told<O extends DescMessage>(
  schema: O,
  stream: ServerWritableStream<Uint8Array, MessageShape<DescMessage>>,
): { write(message: object): boolean } {
  return { write: (message) => stream.write(create(schema, message as never)) };
}

function responseOf(error: unknown): ServerErrorResponse & { code: number; details: string; metadata: Metadata } {
  const { status, message, detail } = wireErrorOf(error);
  const code = error instanceof AccessDeniedError && error.unauthenticated ? Status.UNAUTHENTICATED : status;
  const metadata = new Metadata();
  const details = create(StatusSchema, { code, message, details: [anyPack(LeaseFailureSchema, detail)] });
  metadata.set(STATUS_DETAILS, Buffer.from(toBinary(StatusSchema, details)));
  return Object.assign(new Error(message), { code, details: message, metadata });
}
