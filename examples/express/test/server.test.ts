import { expect, it } from "vitest";
import {
  behavesAsAServerOfYourOwn,
  endsAsAServerOfYourOwn,
  LONG,
  last,
  startPair,
  turn,
} from "../../test/own-server.js";

const pair = startPair(new URL("../server.mjs", import.meta.url));

behavesAsAServerOfYourOwn(pair);

it("streams what the log gets", async () => {
  const answer = await turn(pair.one, "streamed", { prompt: "hello there" });
  const lines = (await answer.text()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { type: "said", data: "After 0 events:" },
    { type: "said", data: "hello" },
    { type: "said", data: "there" },
    { type: "finished" },
  ]);
});

it("ends a turn with its client", async () => {
  const answer = await turn(pair.one, "left", { prompt: LONG });
  await answer.body?.cancel();
  await last(pair, "left", "stopped", "run_cancelled");
});

endsAsAServerOfYourOwn(pair);
