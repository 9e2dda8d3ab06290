/** The way to a server within this process: what a network and the things in it do to requests, on purpose and one at a time. */

import type { Clock } from "@leasehold/session-lease";
import { pause } from "@leasehold/session-lease";
import type { HttpAnswer, HttpCall } from "./http.js";
import type { KubeServer } from "./kube-server.js";

export type Fault =
  /** The connection is refused: the server has got nothing. */
  | Readonly<{ kind: "refuse" }>
  /** The server has got nothing, and nobody says so. */
  | Readonly<{ kind: "swallow" }>
  /** Done, and the connection breaks before the answer. */
  | Readonly<{ kind: "reset" }>
  /** Done, and nobody ever says so. */
  | Readonly<{ kind: "silence" }>
  /** Done, and answered only when `until` resolves. */
  | Readonly<{ kind: "hold"; until: Promise<unknown> }>
  /** Arrives after so many ms; then it is done, whether or not somebody still waits for the answer. */
  | Readonly<{ kind: "late"; ms: number }>
  /** Something else answers, and the server has got nothing. */
  | Readonly<{ kind: "answer"; answer: HttpAnswer }>
  /** Done, and something changes the answer on its way. */
  | Readonly<{ kind: "rewrite"; rewrite: (answer: HttpAnswer) => HttpAnswer }>;

export type Matches = (call: HttpCall) => boolean;
type Injected = { readonly matches: Matches; readonly fault: Fault; left: number };

export const everything: Matches = () => true;
export const writes: Matches = ({ method }) => method !== "GET";
export const reads: Matches = ({ method }) => method === "GET";
export const method =
  (name: string): Matches =>
  (call) =>
    call.method === name;

/** What the link rejects with. `sent`: the server has got the request. */
export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly sent: boolean;

  constructor(message: string, sent: boolean) {
    super(message);
    this.sent = sent;
  }
}

export class KubeLink {
  readonly #clock: Clock;
  readonly #faults: Injected[] = [];
  /** Every call that was sent, in order. */
  readonly calls: HttpCall[] = [];
  /** Where requests go; another server of the same cluster at any time. */
  server: KubeServer;
  /** Headers of every request: credentials, above all. */
  headers: Readonly<Record<string, string>> = {};

  constructor(server: KubeServer, clock: Clock) {
    this.server = server;
    this.#clock = clock;
  }

  /** Does this to the next `times` calls that match; the function returned ends it before. */
  inject(matches: Matches, fault: Fault, times: number = Number.POSITIVE_INFINITY): () => void {
    const injected: Injected = { matches, fault, left: times };
    this.#faults.push(injected);
    return () => {
      injected.left = 0;
    };
  }

  async exchange(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const sent = { ...call, headers: { ...this.headers, ...call.headers } };
    this.calls.push(sent);
    const injected = this.#faults.find(({ left, matches }) => left > 0 && matches(sent));
    if (injected !== undefined) injected.left -= 1;
    return this.#through(sent, injected?.fault, signal);
  }

  async #through(call: HttpCall, fault: Fault | undefined, signal: AbortSignal): Promise<HttpAnswer> {
    switch (fault?.kind) {
      case "refuse":
        throw new LinkError("connect ECONNREFUSED", false);
      case "swallow":
        return cutOff(signal);
      case "reset":
        this.server.handle(call);
        throw new LinkError("read ECONNRESET", true);
      case "silence":
        this.server.handle(call);
        return cutOff(signal);
      case "hold": {
        const answer = this.server.handle(call);
        return Promise.race([fault.until.then(() => answer), cutOff(signal)]);
      }
      case "late": {
        const answered = pause(this.#clock, fault.ms).then(() => this.server.handle(call));
        return Promise.race([answered, cutOff(signal)]);
      }
      case "answer":
        return fault.answer;
      case "rewrite":
        return fault.rewrite(this.server.handle(call));
      default:
        return this.server.handle(call);
    }
  }
}

/** Nothing comes until the caller gives up. */
function cutOff(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(new LinkError("the request was given up", true));
    if (signal.aborted) give();
    signal.addEventListener("abort", give, { once: true });
  });
}
