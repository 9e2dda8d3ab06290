import { CheckFailure } from "../expectation.js";
import type { DrivenProcess } from "../processes/driven-process.js";
import { Harness } from "../processes/harness.js";
import type { Answer } from "../processes/messages.js";
import type { Elsewhere } from "../subject.js";
import type { ContenderCalls } from "./contender.js";

/** The built one, also for whoever runs this from its source. */
const CONTENDER = new URL("../../dist/contend/contender.js", import.meta.url);

export type Contender = DrivenProcess<ContenderCalls>;

/** Processes on one store, for as long as `act` takes; their leases are closed when it has ended well. */
export async function amongProcesses<T>(
  { module, argument, files = false }: Elsewhere,
  count: number,
  act: (contenders: readonly Contender[], now: () => number) => Promise<T>,
): Promise<T> {
  await using harness = new Harness();
  const started = Array.from({ length: count }, (_, place) =>
    harness.start<ContenderCalls>(`contender-${place}`, CONTENDER, { module: module.href, argument, files }),
  );
  const contenders = await Promise.all(started);
  const result = await act(contenders, () => harness.clock.monotonic());
  await Promise.all(contenders.map((contender) => contender.ask("closeLease")));
  return result;
}

/** The places of those that were granted. Whoever was not must have been told so in one of these ways. */
export function grantedAmong(answers: readonly Answer<unknown>[], codes: readonly string[], what: string): number[] {
  return answers.flatMap(({ error }, place) => {
    if (error === undefined) return [place];
    if (codes.includes(error.code)) return [];
    throw new CheckFailure(`${what}: a loser was told ${error.code}: ${error.message}`);
  });
}
