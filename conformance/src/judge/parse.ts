/** Lines to events. Nothing is guessed: a line that is not an event of the format is an error with its place. */

import type { PreviousHold } from "@leasehold/session-lease";
import {
  type Answer,
  FAULTS,
  type HistoryEvent,
  HOLD_ENDS,
  LEASE_OPS,
  type LeaseOp,
  LOSS_REASONS,
  type LogEntry,
  type MetaEvent,
  type Source,
  STORE_OPS,
  type StoreOp,
  UNTOLD,
  type Untold,
} from "./event.js";
import { Fields, HistoryFormatError } from "./fields.js";

const EVENTS = ["meta", "invoke", "return", "believe", "cease", "kill", "stop", "continue", "fault", "log"] as const;
const ANSWERS = [
  "granted",
  "held",
  "refused",
  "released",
  "absent",
  "other",
  "done",
  "nothing",
  "free",
  "seen",
  "accepted",
  "stale",
  "unknown",
  "error",
] as const satisfies readonly Answer["answer"][];

/** The events of one file in their order. Throws `HistoryFormatError`. Empty lines are skipped. */
export function parseEvents(text: string, file: string): (HistoryEvent | MetaEvent)[] {
  const events: (HistoryEvent | MetaEvent)[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() !== "") events.push(parseLine({ file, line: index + 1, text: line }));
  }
  return events;
}

function parseLine(source: Source): HistoryEvent | MetaEvent {
  const { file, line, text } = source;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new HistoryFormatError(file, line, "the line is not JSON");
  }
  const fields = new Fields(json, file, line);
  const event = fields.oneOf("event", EVENTS);
  if (event === "meta") return parseMeta(fields, source);
  const common = { at: fields.number("at"), source };
  switch (event) {
    case "invoke":
      return {
        ...common,
        event,
        wall: fields.numberIfGiven("wall"),
        process: fields.text("process"),
        call: fields.text("call"),
        session: fields.text("session"),
        ...parseOp(fields),
        owner: fields.textIfGiven("owner"),
        token: fields.tokenIfGiven("token"),
        ttl: fields.durationIfGiven("ttl"),
        above: fields.tokenIfGiven("above"),
        newOwner: fields.textIfGiven("newOwner"),
        reclaimExpired: fields.flagIfGiven("reclaimExpired"),
        by: fields.textIfGiven("by"),
        write: fields.textIfGiven("write"),
      };
    case "return":
      return {
        ...common,
        event,
        wall: fields.numberIfGiven("wall"),
        call: fields.text("call"),
        answer: parseAnswer(fields),
      };
    case "believe":
      return { ...common, event, ...parseHold(fields), until: fields.number("until") };
    case "cease":
      return { ...common, event, ...parseHold(fields) };
    case "kill":
      return { ...common, event, process: fields.text("process"), since: parseSince(fields, common.at) };
    case "stop":
    case "continue":
      return { ...common, event, process: fields.text("process") };
    case "fault": {
      const fault = fields.oneOf("fault", FAULTS);
      const by = fault === "step" ? fields.number("by") : undefined;
      const of = fields.oneOfIfGiven("of", ["authority", "store"]) ?? "authority";
      return {
        ...common,
        event,
        fault,
        of,
        session: fields.textIfGiven("session"),
        by,
        since: parseSince(fields, common.at),
      };
    }
    case "log":
      return { ...common, event, session: fields.text("session"), entries: fields.list("entries").map(parseEntry) };
  }
}

const OPS: readonly (LeaseOp | StoreOp)[] = [...LEASE_OPS, ...STORE_OPS];

/** What each operation cannot be without. */
const NEEDS: Readonly<Record<LeaseOp | StoreOp, readonly ("owner" | "newOwner" | "token")[]>> = {
  acquire: ["owner"],
  renew: ["owner"],
  transfer: ["owner", "newOwner"],
  release: ["owner"],
  forceRelease: [],
  requestRelease: [],
  inspect: [],
  open: ["token"],
  append: ["token"],
  erase: ["token"],
};

function parseOp(fields: Fields): { op: LeaseOp | StoreOp } {
  const op = fields.oneOf("op", OPS);
  for (const field of NEEDS[op]) fields.text(field);
  return { op };
}

function parseMeta(fields: Fields, source: Source): MetaEvent {
  const untold = fields.textsIfGiven("untold");
  for (const each of untold ?? []) {
    if (!UNTOLD.includes(each as Untold)) fields.wrong(`"untold" may name ${UNTOLD.join(", ")}, not ${each}`);
  }
  return {
    event: "meta",
    title: fields.textIfGiven("title"),
    epoch: fields.numberIfGiven("epoch"),
    skew: fields.durationIfGiven("skew"),
    ttl: fields.durationIfGiven("ttl"),
    grain: fields.durationIfGiven("grain"),
    forgetAfter: fields.durationIfGiven("forgetAfter"),
    retries: fields.flagIfGiven("retries"),
    unclocked: fields.flagIfGiven("unclocked"),
    local: fields.flagIfGiven("local"),
    untold: untold as readonly Untold[] | undefined,
    breaks: fields.textsIfGiven("breaks"),
    source,
  };
}

function parseSince(fields: Fields, at: number): number | undefined {
  const since = fields.numberIfGiven("since");
  return since === undefined || since <= at ? since : fields.wrong('"since" must not be later than "at"');
}

function parseHold(fields: Fields): { process: string; session: string; owner: string; token: bigint } {
  return {
    process: fields.text("process"),
    session: fields.text("session"),
    owner: fields.text("owner"),
    token: fields.token("token"),
  };
}

function parseEntry(fields: Fields): LogEntry {
  return { seq: fields.integer("seq"), token: fields.token("token"), write: fields.textIfGiven("write") };
}

function parseAnswer(fields: Fields): Answer {
  const answer = fields.oneOf("answer", ANSWERS);
  switch (answer) {
    case "granted": {
      const previous = fields.objectIfGiven("previous");
      return {
        answer,
        owner: fields.textIfGiven("owner"),
        token: fields.token("token"),
        expiry: fields.integer("expiry"),
        ttl: fields.integer("ttl"),
        ...(previous && { previous: parsePrevious(previous) }),
        releaseRequested: fields.flagIfGiven("releaseRequested"),
      };
    }
    case "held":
      return { answer, retryAfterMs: fields.durationIfGiven("retryAfterMs") };
    case "refused":
      return { answer, reason: fields.oneOfIfGiven("reason", LOSS_REASONS) };
    case "seen":
      return {
        answer,
        owner: fields.text("owner"),
        token: fields.token("token"),
        expiry: fields.integer("expiry"),
      };
    case "accepted":
      return { answer, seq: fields.numberIfGiven("seq") };
    case "unknown":
    case "error":
      return { answer, code: fields.textIfGiven("code") };
    default:
      return { answer };
  }
}

function parsePrevious(fields: Fields): PreviousHold {
  return { owner: fields.text("owner"), token: fields.token("token"), ended: fields.oneOf("ended", HOLD_ENDS) };
}
