/** One line of the table: a figure measured in this run, and the bound it is held to. */
export type Line = Readonly<{
  bench: string;
  what: string;
  measured: number;
  unit: string;
  /** `at most` or `at least` the limit; a line without a limit is told for information. */
  bound?: Readonly<{ kind: "at most" | "at least"; limit: number }>;
}>;

export type Bench = Readonly<{ name: string; run: () => Promise<readonly Line[]> }>;

export function holds({ measured, bound }: Line): boolean {
  if (bound === undefined) return true;
  return bound.kind === "at most" ? measured <= bound.limit : measured >= bound.limit;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  if (at === undefined) throw new RangeError("no values to take a quantile of");
  return at;
}
