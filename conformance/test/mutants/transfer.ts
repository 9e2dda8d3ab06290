import { transition } from "@leasehold/session-lease";
import { asking, deciding, type Mutant, seeing, storing } from "./mutant.js";

/** Case 20: handing over. */
export const TRANSFER_MUTANTS: readonly Mutant[] = [
  {
    name: "transfer in name",
    sentence: "A transfer is told, and not stored.",
    build: {
      step: deciding("transfer", (record, command, now) => ({
        outcome: transition(record, command, now).outcome,
        next: undefined,
      })),
    },
    fails: [
      "L20-grant",
      "L20-token",
      "L20-old-holder",
      "L20-old-release",
      "L20-given-ttl",
      "L20-acquired-at",
      "L22-wakes-on-transfer",
    ],
  },
  {
    name: "transfer keeps the token",
    sentence: "The new owner gets the token of the old one.",
    build: { step: storing("transfer", (next, { record }) => ({ ...next, token: record?.token ?? next.token })) },
    fails: ["L20-token"],
  },
  {
    name: "transfer of what is left",
    sentence: "A transfer leaves the expiry where it is.",
    build: { step: storing("transfer", (next, { record }) => ({ ...next, expiry: record?.expiry ?? next.expiry })) },
    fails: ["L20-full-ttl", "L20-given-ttl"],
  },
  {
    name: "transfer forgets the ttl",
    sentence: "A transfer without a ttl uses the lease's own.",
    build: { step: asking("transfer", (command) => ({ ...command, ttl: command.ttl ?? 30_000 })) },
    fails: ["L20-full-ttl"],
  },
  {
    name: "transfer with a ttl for once",
    sentence: "A ttl given to a transfer does not become the record's.",
    build: { step: storing("transfer", (next, { record }) => ({ ...next, ttl: record?.ttl ?? next.ttl })) },
    fails: ["L20-given-ttl"],
  },
  {
    name: "transfer drops the metadata",
    sentence: "A transfer begins without metadata.",
    build: { step: storing("transfer", (next) => ({ ...next, metadata: {} })) },
    fails: ["L20-metadata"],
  },
  {
    name: "transfer goes on",
    sentence: "A transfer keeps `acquiredAt`.",
    build: {
      step: storing("transfer", (next, { record }) => ({ ...next, acquiredAt: record?.acquiredAt ?? next.acquiredAt })),
    },
    fails: ["L20-acquired-at"],
  },
  {
    name: "transfer of the dead",
    sentence: "An expired lease can be transferred.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "transfer" && now >= record.expiry ? { ...record, expiry: now + 1 } : record,
      ),
    },
    fails: ["L20-expired"],
  },
  {
    name: "transfer of what was released",
    sentence: "A released lease can be transferred until its ttl is over.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "transfer" && record.standing === "released"
          ? { ...record, standing: "held", expiry: now + 1 }
          : record,
      ),
    },
    fails: ["L20-released"],
  },
  {
    name: "transfer of nothing",
    sentence: "A transfer of what is not there acquires it for the new owner.",
    build: {
      step: deciding("transfer", (record, command, now) =>
        record === undefined
          ? transition(record, { op: "acquire", owner: command.newOwner, ttl: 30_000 }, now)
          : transition(record, command, now),
      ),
    },
    fails: ["L20-nothing"],
  },
  {
    name: "transfer by anybody",
    sentence: "A transfer compares the token, and not the owner.",
    build: { step: asking("transfer", (command, record) => ({ ...command, owner: record?.owner ?? command.owner })) },
    fails: ["L20-stranger"],
  },
  {
    name: "transfer by name",
    sentence: "A transfer compares the owner, and not the token.",
    build: { step: asking("transfer", (command) => ({ ...command, token: undefined })) },
    fails: ["L20-stranger"],
  },
];
