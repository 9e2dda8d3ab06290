/** One HTTP request and its whole answer, cut as soon as it is not wanted any more. */

import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type ApiReply, UnansweredError } from "./lease-api.js";
import { replyOf } from "./lease-http.js";

/** Bytes: more than the API server's own limit for a page of objects in practice; who sends more is no API server. */
const LONGEST_BODY = 64 * 1024 * 1024;

/** Node's codes for a certificate that is not what the configuration says. */
const CERTIFICATE =
  /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|ERR_SSL_)/;

type Open = (onResponse: (response: IncomingMessage) => void) => ClientRequest;

/** Rejects with `UnansweredError`. The socket of a request that was cut is destroyed: nothing late is read from it. */
export function exchange(open: Open, body: string | undefined, signal: AbortSignal): Promise<ApiReply> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new UnansweredError("the request was given up", { sent: false, cause: signal.reason }));
      return;
    }
    let sent = false;
    const request = begin(open, (response) => {
      sent = true;
      readWhole(response).then(
        (text) => end(() => resolve(replyOf(response.statusCode ?? 0, response.headers, text))),
        (error: unknown) => fail(error),
      );
    });
    const end = (settle: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: unknown): void => end(() => reject(unansweredBy(error, sent)));
    const onAbort = (): void => {
      request.destroy();
      fail(new Error("the request was given up"));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    request.on("socket", (socket: Socket) => {
      // A connection that is there, kept or through a proxy, may take the request at once; a new one not before its certificate
      // was found good.
      if (!isConnecting(socket)) {
        sent = true;
        return;
      }
      const begun = (): void => {
        sent = true;
      };
      const event = "encrypted" in socket ? "secureConnect" : "connect";
      socket.once(event, begun);
      request.once("close", () => socket.removeListener(event, begun));
    });
    request.on("error", fail);
    request.end(body);
  });
}

/** Throws `UnansweredError` where Node refuses to send: a credential with characters that no header may have. */
function begin(open: Open, onResponse: (response: IncomingMessage) => void): ClientRequest {
  try {
    return open(onResponse);
  } catch (error) {
    throw unansweredBy(error, false);
  }
}

function isConnecting(socket: Socket): boolean {
  return socket.connecting || (socket as Socket & { secureConnecting?: boolean }).secureConnecting === true;
}

function readWhole(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    response.on("data", (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > LONGEST_BODY) response.destroy(new Error("the answer is too long"));
    });
    response.on("error", reject);
    response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    response.on("close", () => {
      if (!response.complete) reject(new Error("the answer broke off"));
    });
  });
}

function unansweredBy(error: unknown, sent: boolean): UnansweredError {
  const { code, message } = error as { code?: unknown; message?: string };
  const lasting = typeof code === "string" && CERTIFICATE.test(code);
  const told = lasting ? `the API server's certificate is not what the configuration says: ${message}` : message;
  return new UnansweredError(String(told), { sent: sent && !lasting, lasting, cause: error });
}
