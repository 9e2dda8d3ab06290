/** What the simulator holds the world to by itself, beside the rules of the judge. */

export const LAWS = {
  "no-surprise": "Whatever the world does, the product answers with errors that it has announced.",
  "no-crash": "Nothing is thrown from a timer, and no rejection is left unhandled.",
  "fresh-owner": "An owner is used for one attempt to acquire and never again.",
  "no-renewal-after-release": "Once the release of a hold has been sent, no renewal of it is sent.",
  "release-after-join": "The release of a run is sent only after the run's callback has settled.",
  "nothing-missed": "Who opens a session is shown every entry that an earlier holder ever gets into it.",
  "no-ghost": "What an acquire was granted after its caller had given up is given back.",
  "no-revival": "A write that was under way when its record was wiped does not bring it back.",
  "clean-end": "A process that has drained and closed has no timer and no call left.",
} as const;
export type Law = keyof typeof LAWS;

export type Breach = Readonly<{ law: Law; sentence: string; at: number }>;
