import { LeashError } from "@leasehold/leash";
import { LeaseHeldError, LeaseUnavailableError } from "@leasehold/session-lease";
import { DrainError } from "@leasehold/session-runs";
import {
  StaleTokenError,
  StoreCorruptError,
  StoreDeniedError,
  StoreUnavailableError,
  UnknownSessionError,
} from "@leasehold/session-store";
import { expect, it } from "vitest";
import { replyFor } from "../src/http/error-reply.js";
import { HttpError } from "../src/http/http-error.js";

it.each<[string, unknown, number, string]>([
  ["our own", new HttpError(418, "teapot", "short and stout"), 418, "teapot"],
  ["unknown session", new UnknownSessionError("s"), 404, "unknown_session"],
  ["full disk", new StoreUnavailableError("no space on /secret/path", "/secret/path"), 503, "store_unavailable"],
  ["forbidden disk", new StoreDeniedError("denied: /secret/path", "/secret/path"), 503, "store_unavailable"],
  ["damaged log", new StoreCorruptError("damaged", "/secret/path"), 500, "store_corrupt"],
  ["stale token", new StaleTokenError("s", 1n, 2n), 409, "lease_lost"],
  ["lost lease", new LeaseHeldError("gone", { reason: "taken" }), 409, "lease_lost"],
  ["backend down", new LeaseUnavailableError("/secret/path does not answer"), 503, "lease_unavailable"],
  ["draining", new DrainError(), 503, "draining"],
  ["leftover agent", new LeashError("not-gone", "group 5 at /secret/path"), 503, "agent_not_gone"],
  ["too late to start", new LeashError("expired", "over"), 503, "lease_lost"],
  ["agent gone from the disk", new LeashError("command-not-found", "/secret/path"), 503, "agent_unavailable"],
  ["a bug", new TypeError("undefined is not a function at /secret/path"), 500, "internal"],
  ["no error at all", undefined, 500, "internal"],
])("%s", (_, error, status, code) => {
  const reply = replyFor(error);
  expect({ status: reply.status, code: reply.code }).toEqual({ status, code });
  expect(reply.message).not.toContain("/secret/path");
});

it("finds a known error behind a wrapper", () => {
  expect(replyFor(new Error("wrapped", { cause: new UnknownSessionError("s") })).status).toBe(404);
});
