import { ACQUIRE_MUTANTS } from "./mutants/acquire.js";
import { CLOCK_MUTANTS } from "./mutants/clocks.js";
import { examineMutants } from "./mutants/examine.js";
import { RELEASE_MUTANTS } from "./mutants/release.js";
import { RENEW_MUTANTS } from "./mutants/renew.js";
import { STORE_MUTANTS } from "./mutants/store.js";
import { SUBJECT_MUTANTS } from "./mutants/subject.js";
import { TAKEOVER_MUTANTS } from "./mutants/takeover.js";

examineMutants("subjects", SUBJECT_MUTANTS);
examineMutants("stores", STORE_MUTANTS);
examineMutants("acquire", ACQUIRE_MUTANTS);
examineMutants("takeover and expiry", TAKEOVER_MUTANTS);
examineMutants("clocks", CLOCK_MUTANTS);
examineMutants("renew", RENEW_MUTANTS);
examineMutants("release", RELEASE_MUTANTS);
