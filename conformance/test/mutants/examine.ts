import { describe, expect, test } from "vitest";
import { runConformance } from "../../src/index.js";
import { reference } from "../reference/reference.js";
import type { Mutant } from "./mutant.js";

/** One test for each: the exam fails exactly what the mutant says. */
export function examineMutants(title: string, mutants: readonly Mutant[]): void {
  describe(title, () => {
    test.each(mutants.map((mutant) => [mutant.name, mutant] as const))("%s", async (name, { build, fails }) => {
      const { results } = await runConformance(reference(name, build), { effort: "quick" });
      expect(results.filter(({ verdict }) => verdict === "failed").map(({ id }) => id)).toEqual(fails);
    });
  });
}
