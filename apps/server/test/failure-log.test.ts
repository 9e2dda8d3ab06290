import { DrainError } from "@leasehold/session-runs";
import { pino } from "pino";
import { expect, it } from "vitest";
import { createApp } from "../src/http/create-app.js";
import { HttpError } from "../src/http/http-error.js";

/** What the operator's log says of a request whose route throws this. */
async function logged(error: Error): Promise<string> {
  const lines: string[] = [];
  const app = createApp(
    [
      (app) => {
        app.get("/", async () => {
          throw error;
        });
      },
    ],
    { guard: { allowedHosts: [], allowedOrigins: [] }, log: pino({}, { write: (line) => lines.push(line) }) },
  );
  const { statusCode } = await app.inject({ url: "/", headers: { host: "localhost" } });
  expect(statusCode).toBeGreaterThanOrEqual(500);
  await app.close();
  return lines.join("");
}

it("a request that failed is logged, with what the client is not told", async () => {
  expect(await logged(new TypeError("a bug at /some/path"))).toMatch(
    /"event":"request\.failed".*a bug at \/some\/path/,
  );
});

it.each([new DrainError(), new HttpError(503, "too_many_waiting", "too many prompts wait at this server", 1_000)])(
  "a server that is full or about to end says so to each client, and not thousands of times to the operator: %s",
  async (error) => {
    expect(await logged(error)).toBe("");
  },
);
