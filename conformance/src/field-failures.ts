/**
 * How lease software has failed in the field, and which part of this project has to answer for it. Each id is named by
 * the tests that hold us to it: by checks of the exam (`checks`), by tests that carry the id in their name or file, or both.
 * `later`: the part that has yet to come.
 */
export type FieldFailure = Readonly<{ title: string; checks?: readonly string[]; later?: string }>;

const KUBERNETES = "k8slease";
const POSTGRES = "pglease";

export const FIELD_FAILURES: Readonly<Record<string, FieldFailure>> = {
  B01: { title: "a lost file lock ends the process from a timer" },
  B02: { title: "a release after a loss rejects, or harms the successor" },
  B03: { title: "an event loop blocked for longer than the ttl goes on believing" },
  B04: { title: "file times that the disk rounds make a healthy lease look stolen" },
  B06: { title: "a killed holder leaves its lease behind", checks: ["L04-after-restart"] },
  B08: { title: "a counter on disk falls back", checks: ["L04-after-restore", "L04-seeded"] },
  B09: { title: "missing directories, and two spellings of one" },
  B10: { title: "the directory is removed under a holder", checks: ["L07-deleted", "L07-no-revival-after-removal"] },
  B12: { title: "a full or forbidden disk looks like contention", checks: ["L18-acquire", "L18-renew"] },
  B14: { title: "a file from the future is never stale, a stepped clock makes a live one so" },
  B16: { title: "file times and reading clocks that disagree" },
  B18: { title: "timers keep a finished process alive", checks: ["L19-not-closed", "L19-timers"] },
  B19: { title: "a pid of another container, boot or process is believed" },
  B20: { title: "lease times in the wrong precision are refused", later: KUBERNETES },
  B21: { title: "permanent refusals are retried as if the lease were held", later: KUBERNETES },
  B23: { title: "a silent socket stops renewal", later: KUBERNETES },
  B25: { title: "a patch of the wrong content type", later: KUBERNETES },
  B26: { title: "a change of transport loses CA and proxy", later: KUBERNETES },
  B28: { title: "a release races a renewal that is under way" },
  B29: { title: "a release writes an object that is refused", later: KUBERNETES },
  B30: {
    title: "the record is deleted, and the token starts again",
    checks: ["L04-after-removal", "L07-deleted", "L07-no-revival-after-removal", "L24-higher-token"],
  },
  B31: {
    title: "a renewal moves the token, or the start of the hold",
    checks: ["L06-token", "L06-acquired-at", "L04-same-owner-after-release"],
  },
  B32: {
    title: "the clocks of writer and reader disagree",
    checks: ["L05-host-clock-forward"],
    later: KUBERNETES,
  },
  B34: { title: "a write that failed leaves the loser believing" },
  B35: {
    title: "identities that are not unique, or compared by prefix",
    checks: ["L12-owners", "L07-taken-by-namesake"],
  },
  B37: {
    title: "ids that do not fit names, or meet in one",
    checks: ["L12-case", "L12-slash", "L12-late-difference", "L12-dots", "L12-exact", "L16-session-id"],
  },
  B38: { title: "a ttl below the store's grain", checks: ["L17-rounded-up", "L17-honoured", "L16-ttl-extremes"] },
  B39: { title: "stepping down too late, or in the wrong order" },
  B40: {
    title: "one record for each session, for ever",
    checks: ["L24-no-growth", "L24-expired-too", "L24-higher-token"],
  },
  B41: { title: "an unreachable server that had already granted" },
  B42: { title: "calls without a deadline" },
  B43: { title: "a retry policy grants twice" },
  B48: {
    title: "tokens lose digits",
    checks: ["L14-below-2^53", "L14-above-2^53", "L14-below-2^63", "L14-compares-as-numbers", "L14-no-wrap"],
  },
  B49: { title: "long or non-ASCII text hides the real error" },
  B50: { title: "sockets, files and timers leak", checks: ["L19-handles", "L19-timers", "L19-closed"] },
  B51: {
    title: "abort or release while an acquire is under way",
    checks: ["L15-in-flight", "L15-late-grant", "L15-before-no-request"],
  },
  B53: {
    title: "a renewal after somebody came and went",
    checks: ["L08-not-after-successor", "L07-taken", "L08-reclaims"],
  },
  B54: {
    title: "a late release frees the successor",
    checks: [
      "L11-release-after-takeover",
      "L11-second-release",
      "L11-release-after-takeover-elsewhere",
      "L10-old-token",
    ],
  },
  B55: { title: "a double, slow or failing release hides the real error", checks: ["L10-released", "L10-expired-own"] },
  B57: {
    title: "a heartbeat comes back from the dead",
    checks: ["L07-no-revival-after-release", "L11-renew-after-release"],
  },
  B58: { title: "a hiccup counts as loss, or a takeover does not" },
  B59: { title: "a holder that is cut off never finds out" },
  B60: { title: "pause, wake, write, and no fence at the resource" },
  B61: { title: "a laptop sleeps" },
  B63: { title: "waiters that stampede, starve or wait for ever" },
  B65: { title: "durations that break arithmetic or timers", checks: ["L16-ttl", "L16-ttl-extremes"] },
  B67: { title: "a renewal forgets the duration", checks: ["L06-own-ttl", "L06-given-ttl", "L06-shortens"] },
  B68: {
    title: "nobody knows when an expired lease can be taken",
    checks: ["L05-alive-before-expiry", "L05-acquire-at-expiry", "L06-dies-after", "L22-wakes-on-expiry"],
  },
  B69: { title: "the time stands still inside a transaction", later: POSTGRES },
  B71: { title: "session locks behind a pooler", later: POSTGRES },
  B73: { title: "two processes drive one session" },
  B74: {
    title: "look, then start: both pass",
    checks: [
      "L13-one-grant",
      "L13-one-grant-among-instances",
      "L13-one-grant-among-processes",
      "L13-stopped-between-file-calls",
      "L13-reclaim-race",
    ],
  },
  B76: { title: "nobody decided what the second request gets" },
  B77: { title: "a write path that never asks for the lease" },
  B78: {
    title: "a fence that housekeeping cannot pass, a look that touches",
    checks: ["L21-inspect-writes-nothing", "L04-after-expiry"],
  },
};

/** The ids of the field failures that a check answers for, for its test's name. */
export function fieldFailuresOf(check: string): readonly string[] {
  return Object.entries(FIELD_FAILURES)
    .filter(([, { checks }]) => checks?.includes(check))
    .map(([id]) => id);
}
