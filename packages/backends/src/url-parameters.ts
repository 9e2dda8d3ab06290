import { BackendUsageError } from "./usage-error.js";

/** Splits "place?a=1&b=2". Throws `BackendUsageError` for a parameter that is not among `known`, or is given twice. */
export function splitParameters<K extends string>(
  scheme: string,
  place: string,
  known: readonly K[],
): { place: string; parameters: Partial<Record<K, string>> } {
  const [before = "", query = ""] = place.split(/\?(.*)/s);
  const parameters: Partial<Record<K, string>> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const key = known.find((each) => each === name);
    if (key === undefined) {
      const all = known.join(", ");
      throw new BackendUsageError(`${scheme}: knows no parameter ${JSON.stringify(name)}; it knows ${all}`);
    }
    if (parameters[key] !== undefined) throw new BackendUsageError(`${scheme}: has the parameter ${name} twice`);
    if (value === "") throw new BackendUsageError(`${scheme}: has the parameter ${name} without a value`);
    parameters[key] = value;
  }
  return { place: before, parameters };
}
