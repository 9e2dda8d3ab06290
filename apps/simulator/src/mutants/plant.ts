import { readFileSync } from "node:fs";
import { register } from "node:module";
import { MUTANTS, type Mutant } from "./mutants.js";

/** Lets the product be loaded with this fault in it, from now on. Throws if the fault cannot be planted. */
export function plant(name: string): Mutant {
  const mutant = MUTANTS.find((each) => each.name === name);
  if (mutant === undefined)
    throw new Error(`there is no mutant ${name}; there are ${MUTANTS.map((each) => each.name).join(", ")}`);
  const { file, find, replace } = mutant;
  const [scope, pack, ...inside] = file.split("/");
  const url = new URL(inside.join("/"), import.meta.resolve(`${scope}/${pack}`)).href;
  const found = readFileSync(new URL(url), "utf8").split(find).length - 1;
  if (found !== 1) throw new Error(`${name}: what it replaces is in ${file} ${found} times, and must be there once`);
  register("./load-hooks.js", import.meta.url, { data: { url, find, replace } });
  return mutant;
}
