import { createHash } from "node:crypto";
import type { Oracle } from "@leasehold/conformance";

type Stored = { readonly body: string; readonly etag: string };

/** An object store as its clients see it: conditional writes, ETags that are hashes of the content, and no clock. */
export class ObjectStore {
  readonly #objects = new Map<string, Stored>();
  #requests = 0;
  #reachable = true;
  #stalled: Promise<void> | undefined;

  readonly fetch = async (request: Request): Promise<Response> => {
    this.#requests += 1;
    if (!this.#reachable) throw new TypeError("fetch failed");
    const key = new URL(request.url).pathname.slice(1);
    if (request.method === "GET") return answer(this.#objects.get(key));
    const body = await request.text();
    const present = this.#objects.get(key);
    const { headers } = request;
    if (headers.get("if-none-match") === "*" && present !== undefined) return new Response(null, { status: 412 });
    if (headers.has("if-match") && headers.get("if-match") !== present?.etag) {
      return new Response(null, { status: present === undefined ? 404 : 412 });
    }
    const stored = request.method === "PUT" ? this.#put(key, body) : undefined;
    if (stored === undefined) this.#objects.delete(key);
    await this.#stalled;
    return new Response(null, { status: 200, ...(stored && { headers: { etag: stored.etag } }) });
  };

  outage(): () => void {
    this.#reachable = false;
    return () => {
      this.#reachable = true;
    };
  }

  stall(): () => void {
    let resume: () => void = () => undefined;
    this.#stalled = new Promise((resolve) => {
      resume = resolve;
    });
    return () => {
      this.#stalled = undefined;
      resume();
    };
  }

  readonly oracle: Oracle = {
    read: (sessionId) => this.#objects.get(keyOf(sessionId))?.body,
    remove: (sessionId) => this.#objects.delete(keyOf(sessionId)),
    corrupt: (sessionId) => this.#put(keyOf(sessionId), "{"),
    backup: () => {
      const copy = [...this.#objects];
      return () => {
        this.#objects.clear();
        for (const [key, stored] of copy) this.#objects.set(key, stored);
      };
    },
    requests: () => this.#requests,
    size: () => this.#objects.size,
  };

  #put(key: string, body: string): Stored {
    const stored = { body, etag: `"${createHash("md5").update(body).digest("hex")}"` };
    this.#objects.set(key, stored);
    return stored;
  }
}

function answer(stored: Stored | undefined): Response {
  if (stored === undefined) return new Response(null, { status: 404 });
  return new Response(stored.body, { headers: { etag: stored.etag } });
}

function keyOf(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex");
}
