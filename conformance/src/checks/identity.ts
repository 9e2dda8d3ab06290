import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

/** Pairs of ids that somebody's folding, slugging, cutting or escaping makes one. */
const PAIRS: Readonly<Record<string, readonly [string, string]>> = {
  "one-character": ["session-1", "session-2"],
  case: ["Session", "session"],
  slash: ["a/b", "a-b"],
  "normal-form": ["\u00e9", "e\u0301"],
  "late-difference": [`${"x".repeat(300)}1`, `${"x".repeat(300)}2`],
  escape: ["a%2Fb", "a/b"],
  dots: ["..", "."],
  space: ["a", "a "],
  newline: ["a\nb", "a b"],
  prototype: ["__proto__", "constructor"],
};

/** Exact text that must come back as it went in. */
const EXACT = [
  "a/b \u00fc\n\u{1f600}",
  "..",
  "__proto__",
  "\u0301",
  "e\u0301",
  " a ",
  "CON",
  "-",
  "%00",
  "\uffff",
  `${"\u00e9".repeat(512)}`,
];

/** Case 12: sessions are told apart by every byte of their ids, owners too. */
export const IDENTITY_CHECKS: readonly Check[] = [
  ...Object.entries(PAIRS).map(([name, [one, other]]) =>
    must(
      {
        id: `L12-${name}`,
        stake: "ownership",
        sentence: `Sessions whose ids differ as ${label(one)} and ${label(other)} do never contend.`,
      },
      async ({ lease }) => {
        const first = await lease.acquire(one, "a");
        const second = await lease.acquire(other, "b");
        equal([first.sessionId, second.sessionId], [one, other], "the sessions granted");
        await lease.release(second);
        equal((await lease.renew(first)).token, first.token, "the first token, after the other session's release");
      },
    ),
  ),
  must(
    {
      id: "L12-exact",
      stake: "truth",
      sentence: "Session ids and owners come back exactly as they were given, up to their longest.",
    },
    async ({ lease }) => {
      for (const id of EXACT) {
        const owner = id.slice(0, 128);
        const { sessionId, owner: granted } = await lease.renew(await lease.acquire(id, owner));
        equal({ sessionId, owner: granted }, { sessionId: id, owner }, "what came back");
      }
    },
  ),
  must(
    {
      id: "L12-owners",
      stake: "ownership",
      sentence: "Owners are told apart by every byte: case, Unicode normal form and trailing space make another owner.",
    },
    async ({ lease }) => {
      const pairs = [
        ["Owner", "owner"],
        ["\u00e9", "e\u0301"],
        ["a", "a "],
        ["1", "01"],
      ] as const;
      for (const [place, [one, other]] of pairs.entries()) {
        await lease.acquire(`s${place}`, one);
        const answer = await lease.acquire(`s${place}`, other).catch((error: unknown) => error);
        ensure(answer instanceof Error, `${label(other)} was taken for ${label(one)}`);
      }
    },
  ),
];

function label(text: string): string {
  const shown = [...text].map((character) => (/[\x21-\x7e]/.test(character) ? character : escaped(character))).join("");
  return `"${shown.length > 40 ? `${shown.slice(0, 8)}...${shown.slice(-4)}` : shown}"`;
}

function escaped(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
