const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Ms in "500ms", "1.5s", "5m" or "1h"; undefined for anything else, a bare number included: its unit would be a guess. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  return Math.abs(ms - Math.round(ms)) < 1e-6 ? Math.round(ms) : undefined;
}

/** The shortest exact way to write a number of ms as a duration. */
export function showDuration(ms: number): string {
  for (const [unit, size] of Object.entries(UNITS).reverse()) {
    if (ms % size === 0 && ms > 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}
