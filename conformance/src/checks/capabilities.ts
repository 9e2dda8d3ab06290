import { ALL_CAPABILITIES, type FullSessionLease, type Lease, POWERS, type Power } from "@leasehold/session-lease";
import { type Check, must } from "../check.js";
import { ensure, equal, failure, refused } from "../expectation.js";

/** How each power is called on a session "s" that `held` holds; resolves if the power is there. */
const CALLS: Readonly<Record<Power, (lease: FullSessionLease, held: Lease) => Promise<unknown>>> = {
  inspect: (lease) => lease.inspect("s"),
  list: (lease) => lease.list(),
  transfer: (lease, held) => lease.transfer(held, "b"),
  forceRelease: (lease) => lease.forceRelease("s"),
  requestRelease: (lease) => lease.requestRelease("s"),
  waitForChange: async (lease, held) => {
    const waiting = lease.waitForChange("s");
    await Promise.all([waiting, lease.release(held)]);
  },
  domain: (lease) => lease.domain(),
};

/** A lease is what it says it is: each capability that it declares is there, and each that it declares absent is refused. */
export const CAPABILITY_CHECKS: readonly Check[] = [
  must(
    { id: "C00-complete", stake: "truth", sentence: "Every capability is declared, as true or as false." },
    async ({ lease }) => {
      for (const capability of Object.keys(ALL_CAPABILITIES)) {
        const declared: unknown = (lease.capabilities as Readonly<Record<string, unknown>>)[capability];
        ensure(typeof declared === "boolean", `the capability ${capability} is declared as ${String(declared)}`);
      }
    },
  ),
  ...POWERS.map((power) =>
    must(
      {
        id: `C00-${power}`,
        stake: "power",
        sentence: `\`${power}\` does what it is declared to do: it answers, or it is refused as unsupported.`,
      },
      async (bench) => {
        const { lease } = bench;
        const held = await lease.acquire("s", "a");
        if (bench.declares(power)) {
          await bench.soon(CALLS[power](lease, held), `${power}, which is declared`);
          return;
        }
        // A core without the method at all refuses in its own way.
        if (typeof lease[power] !== "function") return;
        await refused(
          bench.soon(CALLS[power](lease, held), power),
          "unsupported",
          `${power}, which is declared absent`,
        );
      },
    ),
  ),
  must(
    {
      id: "C00-ttl",
      stake: "truth",
      sentence:
        "A ttl given to acquire is used where that is declared; otherwise it is refused, or the grant tells the lease's own.",
    },
    async (bench) => {
      const asked = bench.ttl * 2;
      const call = bench.lease.acquire("s", "a", { ttl: asked });
      if (bench.declares("ttl")) {
        ensure((await call).ttl >= asked, `a ttl of ${asked} ms was asked for and ${(await call).ttl} ms granted`);
        return;
      }
      const answer = await call.catch(() => undefined);
      if (answer === undefined) await refused(call, "unsupported", "a ttl, where it is declared absent");
      else equal(answer.ttl, bench.ttl, "the ttl granted where none can be chosen");
    },
  ),
  must(
    {
      id: "C00-reasons",
      stake: "truth",
      sentence: "A refused holder is told a reason where reasons are declared, and none where they are not.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.acquire("s", "b");
      const error = await failure(bench.lease.renew(held), "a renewal after a takeover");
      const reason = (error as { reason?: unknown }).reason;
      equal(typeof reason, bench.declares("reasons") ? "string" : "undefined", "the type of the reason");
    },
  ),
  must(
    {
      id: "C00-releaseOutcome",
      stake: "truth",
      sentence: "Release answers with one of its three words, and with the right one where that is declared.",
    },
    async (bench) => {
      const outcome = await bench.lease.release({ sessionId: "s", owner: "a", token: 1n });
      const allowed = bench.declares("releaseOutcome") ? ["absent"] : ["released", "absent", "other"];
      ensure(allowed.includes(outcome), `release of nothing: expected ${allowed.join(" or ")}, saw ${outcome}`);
    },
  ),
  must(
    {
      id: "C00-metadata",
      stake: "truth",
      needs: ["inspect"],
      sentence: "Metadata comes back where that is declared; otherwise it is refused, or seen to be empty.",
    },
    async (bench) => {
      const { lease } = bench;
      const answer = await lease.acquire("s", "a", { metadata: { k: "v" } }).catch((error: unknown) => error);
      if (answer instanceof Error) {
        ensure(!bench.declares("metadata"), `metadata is declared, but acquire with it said: ${answer.message}`);
        await refused(Promise.reject(answer), "unsupported", "metadata, where it is declared absent");
        return;
      }
      const expected = bench.declares("metadata") ? { k: "v" } : {};
      equal({ ...(await lease.inspect("s"))?.metadata }, expected, "the metadata seen");
    },
  ),
  must(
    {
      id: "C00-releaseByOwner",
      stake: "truth",
      sentence:
        "An owner without a token frees its hold where that is declared; otherwise it is refused, and the hold stands.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const call = bench.lease.release({ sessionId: "s", owner: "a" });
      if (bench.declares("releaseByOwner")) {
        await call;
        await bench.free("s", "after a release by owner");
        return;
      }
      await refused(call, "unsupported", "release without a token, where it is declared absent");
      await bench.contended("s", "after a refused release by owner");
    },
  ),
];
