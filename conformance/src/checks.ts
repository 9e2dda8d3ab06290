/** Edition 1 of the exam, in the order in which it is run: the subject first, since every other check relies on it. */

import type { Check } from "./check.js";
import { ABORT_CHECKS } from "./checks/abort.js";
import { ACQUIRE_CHECKS } from "./checks/acquire.js";
import { CAPABILITY_CHECKS } from "./checks/capabilities.js";
import { CLOSE_CHECKS } from "./checks/close.js";
import { CONCURRENCY_CHECKS } from "./checks/concurrency.js";
import { FAILURE_CHECKS } from "./checks/failure.js";
import { FORCE_RELEASE_CHECKS } from "./checks/force-release.js";
import { FORGETTING_CHECKS } from "./checks/forgetting.js";
import { HISTORY_CHECKS } from "./checks/history.js";
import { IDENTITY_CHECKS } from "./checks/identity.js";
import { LATE_CHECKS } from "./checks/late.js";
import { LOSS_CHECKS } from "./checks/loss.js";
import { OBSERVE_CHECKS } from "./checks/observe.js";
import { PROCESS_CHECKS } from "./checks/processes.js";
import { RELEASE_CHECKS } from "./checks/release.js";
import { RENEW_CHECKS } from "./checks/renew.js";
import { REQUEST_CHECKS } from "./checks/request-release.js";
import { STORE_CHECKS } from "./checks/store.js";
import { SUBJECT_CHECKS } from "./checks/subject.js";
import { EXPIRY_CHECKS, TAKEOVER_CHECKS } from "./checks/takeover.js";
import { TOKEN_CHECKS } from "./checks/tokens.js";
import { TRANSFER_CHECKS } from "./checks/transfer.js";
import { TTL_CHECKS } from "./checks/ttl.js";
import { VALIDATION_CHECKS } from "./checks/validation.js";
import { WAIT_CHECKS } from "./checks/wait.js";

export const CHECKS: readonly Check[] = [
  ...SUBJECT_CHECKS,
  ...CAPABILITY_CHECKS,
  ...STORE_CHECKS,
  ...ACQUIRE_CHECKS,
  ...TAKEOVER_CHECKS,
  ...EXPIRY_CHECKS,
  ...RENEW_CHECKS,
  ...LOSS_CHECKS,
  ...RELEASE_CHECKS,
  ...LATE_CHECKS,
  ...IDENTITY_CHECKS,
  ...CONCURRENCY_CHECKS,
  ...PROCESS_CHECKS,
  ...TOKEN_CHECKS,
  ...ABORT_CHECKS,
  ...VALIDATION_CHECKS,
  ...TTL_CHECKS,
  ...FAILURE_CHECKS,
  ...CLOSE_CHECKS,
  ...TRANSFER_CHECKS,
  ...FORCE_RELEASE_CHECKS,
  ...OBSERVE_CHECKS,
  ...REQUEST_CHECKS,
  ...WAIT_CHECKS,
  ...HISTORY_CHECKS,
  ...FORGETTING_CHECKS,
];
