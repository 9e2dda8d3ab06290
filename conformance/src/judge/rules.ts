/** What the judge holds a history to: each rule with a stable id and the sentence that it enforces. */

import type { Source } from "./event.js";

export const RULES = {
  "two-holders":
    "At no instant do two holders of one session believe themselves valid, but for the old holder after its record was destroyed or freed over its head: until its next renewal answers, at most its ttl.",
  "unfounded-belief":
    "A holder believes itself valid only on a grant or renewal of its own that has been answered, and no longer than the ttl from before that was asked.",
  "token-order": "Of two holds of a session, the one asked for after the other was granted has the higher token.",
  "stale-write": "No write is accepted with a token lower than one that was accepted before the write was offered.",
  "lost-write": "Every acknowledged entry is in the final log, once, where it was acknowledged.",
  "log-gap": "The final log numbers its entries from 1 without gap or duplicate.",
  "log-token-falls": "In the final log no entry has a lower token than the entry before it.",
  "not-linearizable":
    "Some order of the calls, each within its own time, explains every answer by the transition function of the port.",
} as const;

export type Rule = keyof typeof RULES;

export type Violation = Readonly<{
  rule: Rule;
  session: string;
  /** One sentence about this very case. */
  sentence: string;
  /** The events that show it, in the order of the history. */
  evidence: readonly Source[];
}>;
