/** Calls in words, for the sentences of a report. */

import type { Answer, InvokeEvent } from "./event.js";
import type { Call } from "./history.js";

export function describeCall({ invoke, answer }: Call): string {
  const { process, owner, token } = invoke;
  const who = owner === undefined ? process : `${owner} (${process})`;
  const which = token === undefined ? "" : ` under token ${token}`;
  return `${who} ${asked(invoke)}${which} and ${told(answer)}`;
}

function asked({ op, newOwner }: InvokeEvent): string {
  switch (op) {
    case "acquire":
      return "asked to acquire";
    case "renew":
      return "asked to renew";
    case "transfer":
      return `asked to transfer to ${newOwner}`;
    case "release":
      return "asked to release";
    case "forceRelease":
      return "asked to force a release";
    case "requestRelease":
      return "asked the holder to let go";
    case "inspect":
      return "looked";
    case "open":
      return "opened the log";
    case "append":
      return "offered an entry";
    case "erase":
      return "erased the log";
  }
}

function told(answer: Answer): string {
  switch (answer.answer) {
    case "granted":
      return `was granted token ${answer.token} until ${answer.expiry}`;
    case "held":
      return "was told that another holds";
    case "refused":
      return `was refused${answer.reason === undefined ? "" : ` as ${answer.reason}`}`;
    case "seen":
      return `saw ${answer.owner} with token ${answer.token} until ${answer.expiry}`;
    case "free":
      return "saw that nobody holds";
    case "accepted":
      return `was acknowledged${answer.seq === undefined ? "" : ` as ${answer.seq}`}`;
    case "stale":
      return "was refused as stale";
    case "unknown":
      return "never learnt the outcome";
    default:
      return `was told ${answer.answer}`;
  }
}
