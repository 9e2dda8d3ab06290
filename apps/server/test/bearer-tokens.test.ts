import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FakeClock } from "@leasehold/conformance";
import { pino } from "pino";
import { expect, it } from "vitest";
import { BearerTokens } from "../src/http/bearer-tokens.js";
import { scratch } from "./server-process.js";

const ONE = "one-token-of-32-characters-or-so";
const TWO = "two-token-of-32-characters-or-so";

async function tokensIn(text: string) {
  const path = join(await scratch(), "tokens");
  await writeFile(path, text);
  const clock = new FakeClock();
  const said: { event: string }[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void said.push(JSON.parse(line)) });
  const tokens = await BearerTokens.open(path, clock, log);
  const judge = (token: string): Promise<string> => tokens.judge(`Bearer ${token}`);
  return { path, clock, said, tokens, judge };
}

it("takes any of the file's tokens, and says which of the two is wrong with others", async () => {
  const { tokens, judge } = await tokensIn(`# clients\n${ONE}\n\n  ${TWO}  \r\n`);
  expect(await judge(ONE)).toBe("accepted");
  expect(await tokens.judge(`bearer   ${TWO} `)).toBe("accepted");
  for (const wrong of [`${ONE}x`, ONE.slice(1), ONE.toUpperCase(), "#", "clients", `${ONE},${TWO}`]) {
    expect(await judge(wrong), wrong).toBe("wrong");
  }
  for (const missing of [undefined, "", "Bearer", "Bearer ", ONE, `Basic ${ONE}`, `Bearer ${ONE} ${TWO}`]) {
    expect(await tokens.judge(missing), missing).toBe("missing");
  }
});

it("reads the file again when it has changed, a second later at most", async () => {
  const { path, clock, judge } = await tokensIn(ONE);
  await writeFile(path, `${TWO}\n`);
  await clock.advance(999);
  expect(await judge(ONE)).toBe("accepted");
  await clock.advance(1);
  expect(await judge(ONE)).toBe("wrong");
  expect(await judge(TWO)).toBe("accepted");
  // As a mounted secret is swapped.
  await writeFile(`${path}.new`, ONE);
  await rename(`${path}.new`, path);
  await clock.advance(1_000);
  expect(await Promise.all([judge(ONE), judge(TWO)])).toEqual(["accepted", "wrong"]);
});

it("keeps its tokens while the file makes no sense, says so, and goes on when it does", async () => {
  const { path, clock, said, judge } = await tokensIn(ONE);
  for (const spoil of [() => rm(path), () => writeFile(path, ""), () => writeFile(path, "short")]) {
    await spoil();
    await clock.advance(1_000);
    expect(await judge(ONE)).toBe("accepted");
    expect(said.at(-1)).toMatchObject({ event: "auth.tokens_kept" });
  }
  await writeFile(path, TWO);
  await clock.advance(1_000);
  expect(await judge(ONE)).toBe("wrong");
  expect(said.at(-1)).toMatchObject({ event: "auth.tokens_read", tokens: 1 });
});

it.each([
  ["", /no token in it/],
  ["# only a comment\n", /no token in it/],
  [`${ONE}\nfifteen-letters`, /line 2 has 15 characters, and must have 16 to 1024; `openssl rand/],
  ["x".repeat(1_025), /line 1 has 1025/],
  [`two words ${ONE}`, /line 1 is not one word/],
  [`${ONE}é`, /line 1 is not one word/],
  [Array.from({ length: 1_001 }, (_, i) => `${ONE}-${i}`).join("\n"), /more than 1000 tokens/],
])("refuses a file at the start, and never repeats what stands in it: %.20j", async (text, sentence) => {
  const refused = tokensIn(text);
  await expect(refused).rejects.toThrow(sentence);
  await expect(refused).rejects.not.toThrow(ONE);
});

it("refuses a file that is not there", async () => {
  const missing = BearerTokens.open(join(await scratch(), "none"), new FakeClock(), pino({ level: "silent" }));
  await expect(missing).rejects.toThrow(/ENOENT/);
});
