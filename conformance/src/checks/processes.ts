import { hostClock } from "@leasehold/session-lease";
import { type Check, must } from "../check.js";
import { amongProcesses, type Contender, grantedAmong } from "../contend/contenders.js";
import { ensure } from "../expectation.js";

const CONTENDERS = 3;
const ROUNDS = { memory: 100, elsewhere: 100, quick: 20 } as const;
/** Ms for an order to reach every process before all of them begin at once. */
const HEAD_START = 4;
/** Ms for the one process while the other is stopped. A store that locks keeps it waiting: then the stopped one goes first. */
const OVERTAKING = 150;
/** Calls of one acquire: with more than that, it will never have been stopped before each of them. */
const MOST_CALLS = 1_000;

/** Case 13 again, where look and write cannot be one step by being in one turn of one event loop. */
export const PROCESS_CHECKS: readonly Check[] = [
  must(
    {
      id: "L13-one-grant-among-processes",
      stake: "ownership",
      requires: ["elsewhere"],
      sentence:
        "Of the acquires of several processes that begin at one instant exactly one is granted, round after round.",
    },
    (bench) =>
      amongProcesses(bench.elsewhere, CONTENDERS, async (contenders, now) => {
        let last = 0n;
        for (let round = 0; round < bench.rounds(ROUNDS); round += 1) {
          // In turn the first record of a session, and a takeover.
          const session = round % 2 === 0 ? `s ${round}` : "s";
          const at = now() + HEAD_START;
          const calls = contenders.map((each, place) => each.try("acquireAt", at, session, `owner ${round}.${place}`));
          const answers = await Promise.all(calls);
          const [winner, ...others] = grantedAmong(answers, ["held"], `round ${round}`);
          const count = others.length + (winner === undefined ? 0 : 1);
          ensure(winner !== undefined && count === 1, `round ${round}: ${count} grants to ${CONTENDERS} processes`);
          const token = answers[winner]?.value ?? 0n;
          ensure(session !== "s" || token > last, `round ${round}: the token ${token} came after ${last}`);
          if (session === "s") last = token;
          await contenders[winner]?.ask("release");
        }
      }),
  ),
  must(
    {
      id: "L13-stopped-between-file-calls",
      stake: "ownership",
      requires: ["elsewhere", "elsewhere.files"],
      sentence:
        "A process that is stopped before any one of the file system calls of its acquire, while another acquires, and then goes on is not granted as well.",
    },
    (bench) => amongProcesses(bench.elsewhere, 2, ([stopped, rival]) => stopBeforeEach(stopped, rival)),
  ),
];

async function stopBeforeEach(stopped?: Contender, rival?: Contender): Promise<void> {
  ensure(stopped !== undefined && rival !== undefined, "two processes were asked for");
  // Whatever is made or loaded once is out of the way.
  const calls = await stopped.ask("acquireStopping", MOST_CALLS, "a first session", "stopped");
  ensure(calls > 0, "an acquire made no call of node:fs, although the subject says so (`elsewhere.files`)");
  for (const kind of ["first record", "takeover"] as const) {
    for (let nth = 0; ; nth += 1) {
      ensure(nth < MOST_CALLS, `an acquire makes more than ${MOST_CALLS} calls of node:fs`);
      const session = `${kind} ${nth}`;
      if (kind === "takeover") {
        await rival.ask("acquireAt", 0, session, "before");
        await rival.ask("release");
      }
      const answering = stopped.try("acquireStopping", nth, session, "stopped");
      // Answered without a stop: it has been stopped before every call that it makes.
      if (!(await stopped.stopsBefore(answering))) break;
      const overtaking = rival.try("overtake", session, "rival");
      await settledWithin(overtaking, OVERTAKING);
      stopped.continue();
      const what = `${kind}, stopped before call ${nth + 1}`;
      const answers = await Promise.all([answering, overtaking]);
      const granted = grantedAmong(answers, ["held", "unknown-outcome"], what);
      const unsure = answers.some(({ error }) => error?.code === "unknown-outcome");
      ensure(granted.length <= 1, `${what}: both processes were granted the session`);
      ensure(granted.length === 1 || unsure, `${what}: nobody was granted the session`);
      for (const place of granted) await [stopped, rival][place]?.ask("renew");
    }
  }
}

function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = hostClock.schedule(resolve, ms, { keepAlive: true });
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    promise.then(end, end);
  });
}
