import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { behavesAsAServerOfYourOwn, endsAsAServerOfYourOwn, last, startPair, turn } from "../../test/own-server.js";

const pair = startPair([fileURLToPath(new URL("../server.mjs", import.meta.url))]);

behavesAsAServerOfYourOwn(pair);

it("answers before the turn is over, which needs no client", async () => {
  const answer = await turn(pair.one, "started", { prompt: "to the end" });
  expect(answer.status).toBe(202);
  expect(await answer.json()).toEqual({ runId: expect.any(String) });
  await last(pair, "started", "finished");
});

endsAsAServerOfYourOwn(pair);
