import { describe, expect, it } from "vitest";
import { MAX_LINE_LENGTH, type OutputLine, outputLines } from "../src/agent/output-lines.js";

async function linesOf(...chunks: (string | Uint8Array)[]): Promise<OutputLine[]> {
  const lines: OutputLine[] = [];
  for await (const line of outputLines(bytesOf(chunks))) lines.push(line);
  return lines;
}

async function* bytesOf(chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
}

const texts = async (...chunks: (string | Uint8Array)[]): Promise<string[]> =>
  (await linesOf(...chunks)).map(({ text }) => text);

/** What a reader gets who puts the pieces of a line together again. */
function joined(lines: readonly OutputLine[]): string[] {
  const whole: string[] = [];
  let line = "";
  for (const { text, partial } of lines) {
    line += text;
    if (partial === true) continue;
    whole.push(line);
    line = "";
  }
  return whole;
}

describe("the lines of a stream", () => {
  it("end in LF or CRLF, and the last one may lack its end", async () => {
    expect(await texts("a\nb\r\n\nc")).toEqual(["a", "b", "", "c"]);
    expect(await texts("a\n")).toEqual(["a"]);
    expect(await texts()).toEqual([]);
  });

  it("are the same however the bytes come in", async () => {
    const bytes = new TextEncoder().encode("é日本\r\n👍🏽 x\n\ny");
    const singly = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(await linesOf(...singly)).toEqual(await linesOf(bytes));
  });

  it("have replacement characters where the bytes are not UTF-8", async () => {
    expect(await texts(Uint8Array.of(0x61, 0xff, 0xfe, 0x62, 0x0a, 0xe2, 0x82))).toEqual(["a\ufffd\ufffdb", "\ufffd"]);
  });

  it.each([MAX_LINE_LENGTH - 1, MAX_LINE_LENGTH, MAX_LINE_LENGTH + 1, 3 * MAX_LINE_LENGTH, 5 * MAX_LINE_LENGTH + 7])(
    "come in bounded pieces when they are long: %d",
    async (length) => {
      const line = "x".repeat(length);
      for (const size of [1_000, 65_536, length]) {
        const chunks = Array.from({ length: Math.ceil(length / size) }, (_, i) => line.slice(i * size, (i + 1) * size));
        const lines = await linesOf(...chunks, "\nshort\n");
        expect(joined(lines)).toEqual([line, "short"]);
        for (const { text } of lines) expect(text.length).toBeLessThanOrEqual(MAX_LINE_LENGTH);
      }
    },
  );

  it("are never cut inside a character", async () => {
    const line = `x${"👍".repeat(MAX_LINE_LENGTH)}`;
    const lines = await linesOf(line);
    expect(joined(lines)).toEqual([line]);
    for (const { text } of lines) expect(text.isWellFormed()).toBe(true);
  });
});
