import { UsageError } from "./usage-error.js";

const UNQUOTED_SPECIAL = /[|&;<>()$`*?[\]~]/;

/**
 * The words of a command, split as a shell splits them: at blanks, with 'single' and "double" quotes and backslashes.
 * No shell is involved, so what only a shell can do is refused instead of being passed on as text.
 */
export function splitCommand(text: string, source: string): readonly [string, ...string[]] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (quote === "'" ? character === "'" : quote === '"' && character === '"') {
      quote = undefined;
    } else if (character === "\\" && quote !== "'") {
      const next = text[++i];
      if (next === undefined) throw new UsageError(`${source} ends in a backslash with nothing after it`);
      word = (word ?? "") + (quote === '"' && next !== '"' && next !== "\\" ? `\\${next}` : next);
    } else if (quote !== undefined) {
      word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (UNQUOTED_SPECIAL.test(character)) {
      throw new UsageError(
        `${source} runs a command without a shell, so ${character} means nothing in it; quote it, or write: sh -c '...'`,
      );
    } else {
      word = (word ?? "") + character;
    }
  }
  if (quote !== undefined) throw new UsageError(`${source} has a ${quote} that is never closed`);
  if (word !== undefined) words.push(word);
  const [command, ...args] = words;
  if (command === undefined || command === "")
    throw new UsageError(`${source} names no command; write one, such as 'node agent.js'`);
  if (text.includes("\0")) throw new UsageError(`${source} has a NUL character in it`);
  return [command, ...args];
}
