/** Edition 1 of the exam, in the order in which it is run: the subject first, since every other check relies on it. */

import type { Check } from "./check.js";
import { SUBJECT_CHECKS } from "./checks/subject.js";

export const CHECKS: readonly Check[] = [...SUBJECT_CHECKS];
