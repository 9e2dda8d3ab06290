/** A client of the server: JSON answers, and streams whose events are awaited one by one. */

export interface Event {
  readonly id: string | undefined;
  readonly data: {
    readonly type: string;
    readonly runId: string;
    readonly seq?: number;
    readonly token: string;
    readonly text?: string;
    readonly recovered?: boolean;
    readonly reason?: string;
    readonly exitCode?: number;
    readonly [key: string]: unknown;
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers.
  readonly body: any;
}

const JSON_TYPE = { "content-type": "application/json" };

export async function call(
  method: string,
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && JSON_TYPE), ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const sessionUrl = (server: { url: string }, id: string, rest = ""): string =>
  `${server.url}/v1/sessions/${encodeURIComponent(id)}${rest}`;

/** Creates a session and returns its id. */
export async function create(server: { url: string }, id?: string): Promise<string> {
  const answer = await call("POST", `${server.url}/v1/sessions`, id === undefined ? {} : { id });
  if (answer.status !== 201) throw new Error(`create: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.id;
}

/** What goes with a prompt beside its text. */
export interface PromptExtras {
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function prompt(
  server: { url: string },
  id: string,
  text: string,
  { body = {}, headers = {} }: PromptExtras = {},
): Promise<EventReader> {
  return await openStream(sessionUrl(server, id, "/prompt"), {
    method: "POST",
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify({ prompt: text, ...body }),
  });
}

/** Follows a session; `query` such as "after=3". */
export async function follow(
  server: { url: string },
  id: string,
  query = "",
  headers: Readonly<Record<string, string>> = {},
): Promise<EventReader> {
  return await openStream(sessionUrl(server, id, `/events?follow=1&${query}`), { headers });
}

async function openStream(url: string, init: RequestInit): Promise<EventReader> {
  const hangUp = new AbortController();
  const response = await fetch(url, { ...init, signal: hangUp.signal });
  if (response.status !== 200 || response.body === null) {
    throw new Error(`${url}: ${response.status} ${await response.text()}`);
  }
  return new EventReader(response, response.body, hangUp);
}

/** Every stored event of a session, by pages of `limit`. */
export async function eventsOf(server: { url: string }, id: string, limit = 1_000): Promise<Event["data"][]> {
  const events: Event["data"][] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { status, body } = await call("GET", sessionUrl(server, id, `/events?after=${after}&limit=${limit}`));
    if (status !== 200) throw new Error(`events: ${status} ${JSON.stringify(body)}`);
    events.push(...body.events);
    after = body.next;
  }
  return events;
}

export class EventReader {
  readonly seen: Event[] = [];
  readonly #events: AsyncGenerator<Event, void, void>;
  readonly #hangUp: AbortController;
  /** Kept for its own sake: a response that is collected takes its body, not yet read, with it. */
  readonly response: Response;

  constructor(response: Response, body: ReadableStream<Uint8Array>, hangUp: AbortController) {
    this.response = response;
    this.#events = parse(body);
    this.#hangUp = hangUp;
  }

  /** The next event of this type; those before it are passed over. Rejects when the stream ends first. */
  async next(type: string): Promise<Event> {
    for (;;) {
      const { value, done } = await this.#events.next();
      if (done === true) throw new Error(`no ${type} came; seen: ${JSON.stringify(this.seen.slice(-5))}`);
      this.seen.push(value);
      if (value.data.type === type) return value;
    }
  }

  /** Everything up to the end of the stream, what was seen before included. */
  async rest(): Promise<readonly Event[]> {
    for await (const event of this.#events) this.seen.push(event);
    return this.seen;
  }

  hangUp(): void {
    this.#hangUp.abort();
  }
}

async function* parse(body: ReadableStream<Uint8Array>): AsyncGenerator<Event, void, void> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = parseEvent(text.slice(0, end));
        text = text.slice(end + 2);
        if (event !== undefined) yield event;
      }
    }
  } catch {
    // The server died, or we hung up: the stream is over.
  }
}

function parseEvent(block: string): Event | undefined {
  const fields = new Map(
    block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
  );
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const event: Event = { id: fields.get("id"), data: JSON.parse(data) };
  if (fields.get("event") !== event.data.type)
    throw new Error(`event ${fields.get("event")} carries ${event.data.type}`);
  return event;
}
