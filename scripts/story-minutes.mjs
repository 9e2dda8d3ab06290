import { parseArgs } from "node:util";

/** What `--minutes` says, as text; ends the program with a sentence if it is no length of a story. */
export function storyMinutes(unlessGiven) {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: String(unlessGiven) } } });
  const minutes = Number(values.minutes);
  if (minutes > 0 && minutes <= 1_440) return String(minutes);
  console.error(`--minutes must be above 0 and 1440 at most, not ${values.minutes}`);
  process.exit(2);
}
