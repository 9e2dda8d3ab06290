/**
 * Faults planted in the product, each one decision made wrongly. They live here and nowhere else: a mutant is an exact piece
 * of a built file and what is put in its place as the file is loaded. A piece that is no longer there, or is there
 * twice, fails loudly, so that no mutant quietly turns into the product itself.
 */

export type Mutant = Readonly<{
  name: string;
  /** What the product does wrong. */
  does: string;
  /** Of the package's `dist`. */
  file: `@leasehold/${string}/${string}.js`;
  find: string;
  replace: string;
  /** A seed that is known to find it: tried first. */
  seed: number;
}>;

export const MUTANTS: readonly Mutant[] = [
  {
    name: "renews-after-release",
    does: "keeper: a hold that is being released is still renewed",
    file: "@leasehold/keeper/keeper.js",
    find: 'this.#stop("releasing");',
    replace: "",
    seed: 1,
  },
  {
    name: "cached-validity",
    does: "keeper: validity is what was last noticed, not arithmetic at the call",
    file: "@leasehold/keeper/keeper.js",
    find: "isValid() {\n        this.#look(momentOf(this.#clock));",
    replace: "isValid() {",
    seed: 47,
  },
  {
    name: "no-margin",
    does: "session-lease: a holder uses its ttl up to the last millisecond, whatever its clock's drift",
    file: "@leasehold/session-lease/validity.js",
    find: "return ttl / 100 + 2;",
    replace: "return 0;",
    seed: 5,
  },
  {
    name: "wall-clock-for-validity",
    does: "keeper: validity is counted on the wall clock alone",
    file: "@leasehold/keeper/validity.js",
    find: "return timeLeft(this.end, now);",
    replace: "return this.end.wall - now.wall;",
    seed: 103,
  },
  {
    name: "monotonic-clock-for-validity",
    does: "keeper: validity is counted on the monotonic clock alone, which sleeps with the machine",
    file: "@leasehold/keeper/validity.js",
    find: "return timeLeft(this.end, now);",
    replace: "return this.end.monotonic - now.monotonic;",
    seed: 54,
  },
  {
    name: "renewal-counts-from-its-answer",
    does: "keeper: validity begins when the answer comes, not before the request is sent",
    file: "@leasehold/keeper/keeper.js",
    find: "this.#confirm(attempt.sent, lease, now);",
    replace: "this.#confirm(now, lease, now);",
    seed: 1,
  },
  {
    name: "late-grant-kept",
    does: "session-runs: an acquire that was answered too late to be of use is used",
    file: "@leasehold/session-runs/acquisition.js",
    find: "if (remainingValidity(requestedAt, lease.ttl, momentOf(clock)) > 0)\n                return { lease, requestedAt };",
    replace: "return { lease, requestedAt: momentOf(clock) };",
    seed: 1,
  },
  {
    name: "doubt-is-trust",
    does: "keeper: in doubt the holder goes on until it is told otherwise",
    file: "@leasehold/keeper/keeper.js",
    find: 'return this.#state === "held";',
    replace: 'return this.#state === "held" || this.#state === "in-doubt";',
    seed: 54,
  },
  {
    name: "releases-before-join",
    does: "session-runs: the lease goes back as soon as the run is asked to end, not when it has ended",
    file: "@leasehold/session-runs/session-runs.js",
    find: "value: await callback(run) };",
    replace:
      'value: await Promise.race([callback(run), new Promise((gone) => run.signal.addEventListener("abort", () => gone()))]) };',
    seed: 1,
  },
  {
    name: "owner-reused",
    does: "session-runs: the second try after an unknown outcome goes by the owner of the first",
    file: "@leasehold/session-runs/acquisition.js",
    find: "for (let last = false;; last = true) {\n        const owner = freshOwner(prefix);",
    replace: "const owner = freshOwner(prefix);\n    for (let last = false;; last = true) {",
    seed: 2,
  },
  {
    name: "ghost-kept",
    does: "session-lease: what is granted after its caller has given up is not given back",
    file: "@leasehold/session-lease/calls.js",
    find: "this.#track(answer.then(undo).catch(ignore));",
    replace: "this.#track(answer.catch(ignore));",
    seed: 92,
  },
  {
    name: "fence-after-reading",
    does: "session-store: a new holder reads first and raises the fence afterwards",
    file: "@leasehold/session-store/jsonl/jsonl-store.js",
    find: "const fence = await log.write(planFence(stamp), { alone: true, sync: true });",
    replace:
      "const read = await log.state();\n const raised = await log.write(planFence(stamp), { alone: true, sync: true });\n const fence = raised && { ...raised, state: { ...raised.state, lastSeq: read.lastSeq } };",
    seed: 125,
  },
  {
    name: "no-look-back",
    does: "session-store: a line is acknowledged because it was written, whether or not it counts",
    file: "@leasehold/session-store/jsonl/session-log.js",
    find: 'if (own.verdict !== "counts")\n                    return "again";',
    replace: "",
    seed: 3,
  },
  {
    name: "stale-line-counts",
    does: "session-store: a line below the fence counts",
    file: "@leasehold/session-store/jsonl/fold.js",
    find: "token < state.highest)",
    replace: "token < 0n)",
    seed: 3,
  },
  {
    name: "unsynced",
    does: "session-store: an event that was to be on the disk is not synced",
    file: "@leasehold/session-store/jsonl/session-log.js",
    find: "if (options.sync)\n                    await live.file.sync();",
    replace: "",
    seed: 3,
  },
  {
    name: "no-look-after-link",
    does: "flocklease: a link that succeeded is taken for the next record",
    file: "@leasehold/flocklease/record-writer.js",
    find: "const numbers = await records.numbers(stem).catch((error) => {\n                throw unconfirmed(error, stem);\n            });",
    replace: "const numbers = [number, number + 1];",
    seed: 58,
  },
  {
    name: "predecessor-not-checked",
    does: "flocklease: the look after the link asks only whether something is above",
    file: "@leasehold/flocklease/record-writer.js",
    find: "if (!numbers.includes(number) || !numbers.includes(number + 1)) {",
    replace: "if (false) {",
    seed: 215,
  },
  {
    name: "empty-listing-believed",
    does: "flocklease: a stem whose listing is empty is taken to be empty",
    file: "@leasehold/flocklease/numbered-records.js",
    find: "await this.#files.rmdir(stem);\n            return true;",
    replace: "return true;",
    seed: 806,
  },
  {
    name: "release-unconditional",
    does: "session-lease: a release frees whoever holds",
    file: "@leasehold/session-lease/transition.js",
    find: 'if (!isSameHold(record, command))\n                return { outcome: { kind: "other" }, next: undefined };',
    replace: "",
    seed: 2,
  },
  {
    name: "token-starts-again",
    does: "session-lease: tokens are counted, not seeded by the clock, and begin again after a release",
    file: "@leasehold/session-lease/transition.js",
    find: "const token = nextToken(record?.token ?? 0n, above, now);",
    replace: 'const token = record?.standing === "held" ? record.token + 1n : 1n;',
    seed: 1,
  },
  {
    name: "renew-revives",
    does: "session-lease: a renewal revives what has expired without being asked to",
    file: "@leasehold/session-lease/transition.js",
    find: 'const reclaims = reason === "expired" && command.reclaimExpired === true;',
    replace: 'const reclaims = reason === "expired";',
    seed: 103,
  },
  {
    name: "expiry-early",
    does: "session-lease: the authority lets the next one in while the last may still believe",
    file: "@leasehold/session-lease/record.js",
    find: "now < record.expiry;",
    replace: "now < record.expiry - record.ttl / 20;",
    seed: 34,
  },
  {
    name: "larger-clock-for-silence",
    does: "session-lease: whoever watches another's silence counts it by the larger of the two clocks",
    file: "@leasehold/session-lease/validity.js",
    find: "return Math.min(now.wall - since.wall, now.monotonic - since.monotonic);",
    replace: "return Math.max(now.wall - since.wall, now.monotonic - since.monotonic);",
    seed: 50,
  },
  {
    name: "silence-outlives-its-version",
    does: "session-lease: a watcher goes on counting although the holder has renewed meanwhile",
    file: "@leasehold/session-lease/watched-silence.js",
    find: "known?.version === version ? known",
    replace: "known?.record.token === record.token ? known",
    seed: 8,
  },
  {
    name: "unknown-is-success",
    does: "session-lease: a swap of unknown outcome is taken for done",
    file: "@leasehold/session-lease/cas-loop.js",
    find: "unsure.push({ next, outcome });",
    replace: "return outcome;",
    seed: 53,
  },
];
