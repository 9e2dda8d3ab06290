/** The most that one event carries, in UTF-16 units. As JSON it is at most six times as many bytes. */
export const MAX_LINE_LENGTH = 65_536;

/** `partial`: the line was too long for one piece and goes on in the next. */
export type OutputLine = Readonly<{ text: string; partial?: true }>;

/**
 * The lines of a byte stream, without their ends (LF or CRLF). What is not UTF-8 is replaced by U+FFFD. Never holds more than a chunk
 * and a piece, however long a line is; a last line without an end counts.
 */
export async function* outputLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<OutputLine, void, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", from)) {
      yield* pieces(rest.slice(from, end), true);
      from = end + 1;
    }
    rest = rest.slice(from);
    if (rest.length > MAX_LINE_LENGTH + 1) {
      const cut = rest.length - (rest.length % MAX_LINE_LENGTH || MAX_LINE_LENGTH);
      const kept = isHighSurrogate(rest, cut - 1) ? cut - 1 : cut;
      yield* pieces(rest.slice(0, kept), false);
      rest = rest.slice(kept);
    }
  }
  rest += decoder.decode();
  if (rest !== "") yield* pieces(rest, true);
}

function* pieces(line: string, ends: boolean): Generator<OutputLine, void, void> {
  const text = ends && line.endsWith("\r") ? line.slice(0, -1) : line;
  let from = 0;
  while (text.length - from > MAX_LINE_LENGTH) {
    const to = from + MAX_LINE_LENGTH;
    const end = isHighSurrogate(text, to - 1) ? to - 1 : to;
    yield { text: text.slice(from, end), partial: true };
    from = end;
  }
  yield ends ? { text: text.slice(from) } : { text: text.slice(from), partial: true };
}

/** A character outside the basic plane is two units, and is not cut in half. */
function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}
