import { setTimeout as pause } from "node:timers/promises";
import { toHttp } from "@leasehold/session-runs";
import { isSessionExists } from "@leasehold/session-store";
import { store } from "./sessions.js";

/** In place of your agent: says the prompt back, a word at a time. */
async function* agent(prompt, history, signal) {
  yield `After ${history.length} events:`;
  for (const word of prompt.split(" ")) yield await pause(20, word, { signal });
}

/** One turn. `tell` is called with each event once it is in the log. */
export async function turn({ sessionId: id, runId, token, signal, assertHeld }, prompt, tell) {
  await store.create(id, token).catch((error) => isSessionExists(error) || Promise.reject(error));
  const { tail } = await store.open(id, token); // raises the fence, then reads
  const say = async (type, data) => {
    await store.append(id, token, { runId, type, data });
    tell({ type, data });
  };
  try {
    for await (const words of agent(prompt, tail, signal)) {
      assertHeld(); // before each act
      await say("said", words);
    }
    await say("finished");
  } catch (error) {
    if (!signal.aborted) console.error(error); // the agent, by itself
    assertHeld(); // who has lost the session writes no more
    await say("stopped", toHttp(signal.reason ?? error).code);
  }
}
