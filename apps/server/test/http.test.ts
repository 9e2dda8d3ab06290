import { readdir, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, create, eventsOf, prompt, sessionUrl } from "./client.js";
import { ServerProcess, scratch } from "./server-process.js";

const TIMEOUT = 60_000;
const JSON_TYPE = { "content-type": "application/json" };
const cleanups: (() => Promise<void>)[] = [];
let server: ServerProcess;
let storeDir: string;

beforeAll(async () => {
  const later = (clean: () => Promise<void>): void => void cleanups.unshift(clean);
  const allowed = ["--allowed-host", "agents.example", "--allowed-origin", "https://agents.example"];
  storeDir = await scratch(later);
  server = await ServerProcess.start(["--store-dir", storeDir, ...allowed], { atEnd: later });
}, TIMEOUT);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describe("sessions", { timeout: TIMEOUT }, () => {
  it("are created once, by the given id or a fresh one", async () => {
    expect(await create(server, "once")).toBe("once");
    expect(await call("POST", `${server.url}/v1/sessions`, { id: "once" })).toMatchObject({
      status: 409,
      body: { code: "session_exists" },
    });
    expect(await create(server)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(["a/b", "..", "%2F", "é?#&", "日本", "👍".repeat(256), "line\nbreak", "A", "a"])(
    "may have any name: %j",
    async (id) => {
      await create(server, id);
      // A client would resolve the dots in a path.
      if (id !== "..") expect((await call("GET", sessionUrl(server, id))).body.id).toBe(id);
    },
  );

  it("are listed in order, a page at a time", async () => {
    for (const id of ["list-c", "list-a", "list-b"]) await create(server, id);
    const page = await call("GET", `${server.url}/v1/sessions?after=list-&limit=2`);
    expect(page.body).toMatchObject({
      sessions: [
        { id: "list-a", state: "idle", turns: 0, lastSeq: 0, token: expect.stringMatching(/^\d+$/) },
        { id: "list-b" },
      ],
      next: "list-b",
    });
    const rest = await call("GET", `${server.url}/v1/sessions?after=list-b&limit=1`);
    expect(rest.body.sessions).toMatchObject([{ id: "list-c" }]);
  });

  it("are listed although the lease record of one is damaged", async () => {
    for (const id of ["spoilt", "spoilt-not"]) await create(server, id);
    const leases = join(storeDir, ".session-leases");
    const stem = (await readdir(leases)).find((name) => /^spoilt-[0-9a-f]{32}$/.test(name)) ?? "";
    for (const record of await readdir(join(leases, stem))) await writeFile(join(leases, stem, record), "{");
    const { status, body } = await call("GET", `${server.url}/v1/sessions?after=spoils&limit=2`);
    expect(status).toBe(200);
    expect(body.sessions).toMatchObject([
      { id: "spoilt", state: "unknown" },
      { id: "spoilt-not", state: "idle" },
    ]);
    expect(await call("POST", sessionUrl(server, "spoilt", "/prompt"), { prompt: "hello" })).toMatchObject({
      status: 500,
      body: { code: "lease_corrupt" },
    });
  });

  it("B78: are deleted, and may be created again under a higher token", async () => {
    const id = await create(server, "mortal");
    await (await prompt(server, id, "hello")).rest();
    const { token } = (await call("GET", sessionUrl(server, id))).body;
    expect((await call("DELETE", sessionUrl(server, id))).status).toBe(204);
    expect(await call("DELETE", sessionUrl(server, id))).toMatchObject({ status: 404 });
    await create(server, id);
    const again = (await call("GET", sessionUrl(server, id))).body;
    expect(again).toMatchObject({ turns: 0, lastSeq: 0 });
    expect(BigInt(again.token)).toBeGreaterThan(BigInt(token));
  });
});

describe("the echo agent", { timeout: TIMEOUT }, () => {
  it("says the prompt back, a line at a time", async () => {
    const id = await create(server);
    const events = await (await prompt(server, id, " one two\r\n\nthree")).rest();
    expect(events.map(({ data }) => data.text ?? data.type)).toEqual(["started", " one two", "", "three", "finished"]);
  });

  it("takes its time when it is asked to, and is cancelled meanwhile", async () => {
    const id = await create(server);
    const run = await prompt(server, id, "wait 1h\nnever said");
    await run.next("output");
    await call("POST", sessionUrl(server, id, "/cancel"));
    await run.next("cancelled");
    expect(await eventsOf(server, id)).toMatchObject([{ type: "started" }, { text: "wait 1h" }, { type: "cancelled" }]);
  });
});

describe("a bad request", { timeout: TIMEOUT }, () => {
  type Case = [string, string, string, unknown, number, string, RegExp];
  const cases: Case[] = [
    ["an unknown session", "GET", "/v1/sessions/none", undefined, 404, "unknown_session", /no such session/],
    ["its events", "GET", "/v1/sessions/none/events", undefined, 404, "unknown_session", /./],
    ["a prompt to it", "POST", "/v1/sessions/none/prompt", { prompt: "x" }, 404, "unknown_session", /./],
    ["a cancel of it", "POST", "/v1/sessions/none/cancel", undefined, 404, "unknown_session", /./],
    ["its deletion", "DELETE", "/v1/sessions/none", undefined, 404, "unknown_session", /./],
    ["an unknown path", "GET", "/v2", undefined, 404, "unknown_route", /nothing at this path/],
    ["an unknown method", "PUT", "/v1/sessions", {}, 404, "unknown_route", /method/],
    ["an empty id", "POST", "/v1/sessions", { id: "" }, 400, "invalid_request", /empty/],
    ["a long id", "POST", "/v1/sessions", { id: "x".repeat(1_025) }, 400, "invalid_request", /1,?024/],
    ["a long id in the path", "GET", `/v1/sessions/${"x".repeat(1_025)}`, undefined, 400, "invalid_request", /1,?024/],
    ["NUL in an id", "GET", "/v1/sessions/a%00b", undefined, 400, "invalid_request", /NUL/],
    ["a lone surrogate in an id", "POST", "/v1/sessions", '{"id":"\\ud800"}', 400, "invalid_request", /Unicode/],
    ["an id that is a number", "POST", "/v1/sessions", { id: 1 }, 400, "invalid_request", /id must be text/],
    ["broken percent-encoding", "GET", "/v1/sessions/%E0%A4", undefined, 400, "invalid_request", /percent-encoding/],
    ["broken JSON", "POST", "/v1/sessions", "{", 400, "invalid_request", /not valid JSON/],
    ["an empty body", "POST", "/v1/sessions", "", 400, "invalid_request", /empty/],
    ["a list", "POST", "/v1/sessions", [], 400, "invalid_request", /the body must be a JSON object/],
    ["a prototype", "POST", "/v1/sessions", '{"__proto__":{"id":"x"}}', 400, "invalid_request", /JSON|__proto__/],
    ["no prompt", "POST", "/v1/sessions/s/prompt", {}, 400, "invalid_request", /prompt must be text/],
    ["an empty prompt", "POST", "/v1/sessions/s/prompt", { prompt: "" }, 400, "invalid_request", /not be empty/],
    ["half a character", "POST", "/v1/sessions/s/prompt", '{"prompt":"\\ud800"}', 400, "invalid_request", /Unicode/],
    [
      "a field of no meaning",
      "POST",
      "/v1/sessions/s/prompt",
      { prompt: "x", onBusy: "wait" },
      400,
      "invalid_request",
      /"onBusy"/,
    ],
    [
      "a way that is none",
      "POST",
      "/v1/sessions/s/prompt",
      { prompt: "x", on_busy: "steal" },
      400,
      "invalid_request",
      /on_busy must be reject, wait or interrupt/,
    ],
    ...([-1, 1.5, 600_001, "1s", null] as const).map(
      (wait_ms): Case => [
        `a wait of ${wait_ms}`,
        "POST",
        "/v1/sessions/s/prompt",
        { prompt: "x", on_busy: "wait", wait_ms },
        400,
        "invalid_request",
        /^wait_ms must be/,
      ],
    ),
    [
      "a wait without waiting",
      "POST",
      "/v1/sessions/s/prompt",
      { prompt: "x", wait_ms: 1 },
      400,
      "invalid_request",
      /wait_ms means nothing unless on_busy/,
    ],
    [
      "a seq that is none",
      "GET",
      "/v1/sessions/s/events?after=-1",
      undefined,
      400,
      "invalid_request",
      /after must be a seq/,
    ],
    [
      "a limit twice",
      "GET",
      "/v1/sessions/s/events?limit=1&limit=2",
      undefined,
      400,
      "invalid_request",
      /^limit must be from 1/,
    ],
    ["a page of none", "GET", "/v1/sessions/s/events?limit=0", undefined, 400, "invalid_request", /from 1 to 1000/],
    ["a query of no meaning", "GET", "/v1/sessions/s/events?since=1", undefined, 400, "invalid_request", /"since"/],
    [
      "a body that is too large",
      "POST",
      "/v1/sessions/s/prompt",
      { prompt: "x".repeat(600_000) },
      413,
      "too_large",
      /512 KiB/,
    ],
  ];

  it.each(cases)("is answered with a sentence: %s", async (_, method, path, body, status, code, sentence) => {
    const answer = await call(method, `${server.url}${path}`, body);
    expect(answer).toMatchObject({ status, body: { code, message: expect.stringMatching(sentence) } });
    expect(Object.keys(answer.body).sort()).toEqual(["code", "message"]);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json"])(
    "is refused as %s",
    async (type) => {
      const answer = await call("POST", `${server.url}/v1/sessions`, "{}", { "content-type": type });
      expect(answer).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    },
  );

  it("is answered before a body that is too large has come, and the connection serves the next", async () => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    const size = 600_000;
    const head = `Host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`;
    socket.write(`POST /v1/sessions HTTP/1.1\r\n${head}`);
    let answers = "";
    for await (const chunk of socket) {
      const before = answers;
      answers += chunk;
      if (before === "" && answers.startsWith("HTTP/1.1 413 ")) {
        socket.write(" ".repeat(size));
        socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n");
      }
    }
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 413", "HTTP/1.1 200"]);
  });

  it("is answered even if it is no HTTP", async () => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write("nonsense\r\n\r\n");
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))).toMatchObject({ code: "invalid_request" });
  });

  it("writes nothing", async () => {
    const id = await create(server);
    for (const body of [{}, { prompt: "" }, { prompt: "x", wait_ms: 1 }]) {
      expect((await call("POST", sessionUrl(server, id, "/prompt"), body)).status).toBe(400);
    }
    expect(await eventsOf(server, id)).toEqual([]);
  });
});

describe("contract server, listeners: a page of another site", { timeout: TIMEOUT }, () => {
  const get = (headers: Record<string, string>, method = "GET", path = "/v1/sessions"): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(server.url);
      const sent = httpRequest({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      });
      sent.on("error", reject).end();
    });

  it.each([
    ["evil.example", 403],
    ["127.0.0.1.evil.example", 403],
    ["evil.example:8080", 403],
    ["localhost.evil.example", 403],
    ["not a host", 400],
    ["127.0.0.1", 200],
    ["192.0.2.1:99", 200],
    ["[::1]:8080", 200],
    ["localhost", 200],
    ["LOCALHOST.:80", 200],
    ["agents.example:8080", 200],
  ])("gets in by Host %s: %d", async (host, status) => {
    expect(await get({ host })).toBe(status);
  });

  it.each(["/healthz", "/readyz", "/metrics", "/v1/sessions/none"])("does not get in at %s either", async (path) => {
    expect(await get({ host: "evil.example" }, "GET", path)).toBe(403);
    expect(await get({ origin: "https://evil.example" }, "GET", path)).toBe(403);
  });

  it.each([
    "https://evil.example",
    "null",
    "http://agents.example",
    "https://agents.example.evil",
    "http://127.0.0.1:1",
  ])("is refused by its Origin %s, also when it posts nothing", async (origin) => {
    const answer = await call("POST", `${server.url}/v1/drain`, undefined, { origin });
    expect(answer).toMatchObject({ status: 403, body: { code: "origin_not_allowed" } });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("is let in by an allowed Origin, and told so, streams included", async () => {
    const origin = "https://agents.example";
    const id = await create(server);
    const asked = await call("OPTIONS", sessionUrl(server, id, "/prompt"), undefined, { origin });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-headers")?.split(", ")).toContain("content-type");
    const answer = await call("POST", sessionUrl(server, id, "/prompt"), { prompt: "hi" }, { origin });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(answer.headers.get("vary")).toBe("origin");
  });

  it("cannot send a form", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded", origin: "https://agents.example" };
    expect((await call("POST", `${server.url}/v1/sessions`, "id=x", form)).status).toBe(415);
  });
});

it("sends headers that forbid caching a stream", async () => {
  const id = await create(server);
  const answer = await call("POST", sessionUrl(server, id, "/prompt"), { prompt: "hi" }, JSON_TYPE);
  expect(answer.headers.get("cache-control")).toBe("no-store");
});
