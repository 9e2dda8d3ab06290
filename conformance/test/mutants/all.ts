import { ABORT_MUTANTS } from "./abort.js";
import { ACQUIRE_MUTANTS } from "./acquire.js";
import { CLOCK_MUTANTS } from "./clocks.js";
import { FORCE_MUTANTS } from "./force.js";
import { FORGETTING_MUTANTS } from "./forgetting.js";
import { HISTORY_MUTANTS } from "./history.js";
import { IDENTITY_MUTANTS } from "./identity.js";
import type { Mutant } from "./mutant.js";
import { OBSERVE_MUTANTS } from "./observe.js";
import { PROCESS_MUTANTS } from "./processes.js";
import { RELEASE_MUTANTS } from "./release.js";
import { RENEW_MUTANTS } from "./renew.js";
import { REQUEST_MUTANTS } from "./request.js";
import { STORE_MUTANTS } from "./store.js";
import { SUBJECT_MUTANTS } from "./subject.js";
import { TAKEOVER_MUTANTS } from "./takeover.js";
import { TOKEN_MUTANTS } from "./tokens.js";
import { TRANSFER_MUTANTS } from "./transfer.js";
import { TROUBLE_MUTANTS } from "./trouble.js";
import { VALIDATION_MUTANTS } from "./validation.js";

/** Every mutant, in the order of what the exam asks about. */
export const MUTANTS: readonly Mutant[] = [
  ...SUBJECT_MUTANTS,
  ...STORE_MUTANTS,
  ...ACQUIRE_MUTANTS,
  ...TAKEOVER_MUTANTS,
  ...CLOCK_MUTANTS,
  ...RENEW_MUTANTS,
  ...RELEASE_MUTANTS,
  ...IDENTITY_MUTANTS,
  ...PROCESS_MUTANTS,
  ...TOKEN_MUTANTS,
  ...ABORT_MUTANTS,
  ...VALIDATION_MUTANTS,
  ...TROUBLE_MUTANTS,
  ...TRANSFER_MUTANTS,
  ...FORCE_MUTANTS,
  ...OBSERVE_MUTANTS,
  ...REQUEST_MUTANTS,
  ...HISTORY_MUTANTS,
  ...FORGETTING_MUTANTS,
];
