/** Answers every question "which of n?" of a scenario. */
export type Choose = (n: number) => number;

/**
 * Runs a deterministic scenario once for every path through its choices, depth first, and says how many there were.
 * Throws when there are more than `most`: a model that is cut short proves nothing.
 */
export async function everyPath(scenario: (choose: Choose) => Promise<void>, most: number): Promise<number> {
  let path: { taken: number; of: number }[] = [];
  for (let runs = 1; ; runs += 1) {
    if (runs > most) throw new Error(`more than ${most} paths`);
    let at = 0;
    await scenario((of) => {
      const choice = path[at] ?? { taken: 0, of };
      path[at] = choice;
      at += 1;
      return choice.taken;
    }).catch((error: unknown) => {
      throw new Error(`path ${path.map(({ taken }) => taken).join(" ")}`, { cause: error });
    });
    path = path.slice(0, at);
    while (path.length > 0 && (path.at(-1)?.taken ?? 0) + 1 >= (path.at(-1)?.of ?? 0)) path.pop();
    const last = path.at(-1);
    if (last === undefined) return runs;
    last.taken += 1;
  }
}
