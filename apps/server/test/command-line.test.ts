import { expect, it } from "vitest";
import { splitCommand } from "../src/start/command-line.js";

it.each<[string, string[]]>([
  ["node", ["node"]],
  ["  node\tagent.js  ", ["node", "agent.js"]],
  ["node 'a b' \"c d\"", ["node", "a b", "c d"]],
  ["a'b c'd", ["ab cd"]],
  ["a '' \"\"", ["a", "", ""]],
  ["a\\ b", ["a b"]],
  ['a "\\"" "\\\\" "\\n"', ["a", '"', "\\", "\\n"]],
  ["a '\\'", ["a", "\\"]],
  ["sh -c 'cat | tr a-z A-Z; exit $?'", ["sh", "-c", "cat | tr a-z A-Z; exit $?"]],
  ["é --ü=日本", ["é", "--ü=日本"]],
])("splits %j", (text, words) => {
  expect(splitCommand(text, "--agent")).toEqual(words);
});
