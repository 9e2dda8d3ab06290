import { LeaseCorruptError, transition } from "@leasehold/session-lease";
import { asking, deciding, type Mutant, seeing } from "./mutant.js";

/** Case 21, its first half: breaking a hold. */
export const FORCE_MUTANTS: readonly Mutant[] = [
  {
    name: "force asks",
    sentence: "A force-release is told, and changes nothing.",
    build: {
      step: deciding("force-release", (record, command, now) => ({
        outcome: transition(record, command, now).outcome,
        next: undefined,
      })),
    },
    fails: [
      "L04-after-force",
      "L07-forced",
      "L08-not-after-force",
      "L21-force-frees",
      "L21-force-nothing",
      "L21-force-expected",
      "L21-force-late-release",
      "L22-wakes-on-force",
      "L23-forced",
    ],
  },
  {
    name: "force is always true",
    sentence: "A force-release says that there was a hold, whether or not there was.",
    build: {
      step: deciding("force-release", (record, command, now) => ({
        outcome: { kind: "done" },
        next: transition(record, command, now).next,
      })),
    },
    fails: ["L21-force-nothing", "L21-force-unexpected"],
  },
  {
    name: "force on the dead",
    sentence: "A force-release says of an expired hold that it was broken.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "force-release" && record.expiry <= now ? { ...record, expiry: now + 1 } : record,
      ),
    },
    fails: ["L21-force-nothing"],
  },
  {
    name: "force that expects",
    sentence: "A force-release with an `expectedToken` is always false.",
    build: {
      step: asking("force-release", (command) => (command.expectedToken ? { ...command, expectedToken: 1n } : command)),
    },
    fails: ["L21-force-expected"],
  },
  {
    name: "force that does not compare",
    sentence: "A force-release takes no notice of `expectedToken`.",
    build: { step: asking("force-release", (command) => ({ ...command, expectedToken: undefined })) },
    fails: ["L21-force-unexpected"],
  },
  {
    name: "force up to a token",
    sentence: "A force-release breaks a hold whose token is lower than `expectedToken`.",
    build: {
      step: asking("force-release", (command, record) =>
        record !== undefined && (command.expectedToken ?? 0n) > record.token
          ? { ...command, expectedToken: record.token }
          : command,
      ),
    },
    fails: ["L21-force-unexpected"],
  },
  {
    name: "force is a release",
    sentence: "A force-release leaves a record as the holder's own release would.",
    build: {
      step: deciding("force-release", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return { outcome, next: next && { ...next, standing: "released" } };
      }),
    },
    fails: ["L07-forced", "L08-not-after-force", "L23-forced"],
  },
  {
    name: "released twice",
    sentence: "A release after a force-release answers `released`.",
    build: {
      step: seeing((record, command) =>
        command.op === "release" && record.standing === "forced" ? { ...record, standing: "held" } : record,
      ),
    },
    fails: ["L21-force-late-release"],
  },
  {
    name: "force fears the corrupt",
    sentence: "A force-release of a record that cannot be read is refused.",
    build: {
      driver: (inner, { authority }) => ({
        forceRelease: (note, context) => {
          if (authority.load(note.sessionId)?.broken !== undefined) throw new LeaseCorruptError("cannot be read");
          return inner.forceRelease(note, context);
        },
      }),
    },
    fails: ["L21-force-corrupt", "L21-force-corrupt-token"],
  },
];
