import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { JsonlSessionStore, MemorySessionStore, type SessionStore } from "../src/index.js";

async function jsonl(): Promise<SessionStore> {
  const directory = await mkdtemp(join(tmpdir(), "summary-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return new JsonlSessionStore({ directory });
}

describe.each([
  ["memory", async (): Promise<SessionStore> => new MemorySessionStore()],
  ["JSONL", jsonl],
])("summary, %s", (_, open) => {
  it("is what the list says of the session", async () => {
    await using store = await open();
    await store.create("a", 3n);
    await store.append("a", 4n, { runId: "r", type: "started" });
    const listed = (await store.list()).sessions;
    expect(listed).toMatchObject([{ id: "a", token: 4n, lastSeq: 1, runs: 1 }]);
    expect([await store.summary("a")]).toEqual(listed);
  });

  it("does not know a session that never was, nor one that is deleted", async () => {
    await using store = await open();
    await store.create("a", 1n);
    await store.delete("a", 2n);
    for (const id of ["a", "b"]) await expect(store.summary(id)).rejects.toMatchObject({ code: "unknown-session" });
  });
});
