import { ABORT_MUTANTS } from "./mutants/abort.js";
import { examineMutants } from "./mutants/examine.js";
import { IDENTITY_MUTANTS } from "./mutants/identity.js";
import { PROCESS_MUTANTS } from "./mutants/processes.js";
import { TOKEN_MUTANTS } from "./mutants/tokens.js";
import { TROUBLE_MUTANTS } from "./mutants/trouble.js";
import { VALIDATION_MUTANTS } from "./mutants/validation.js";

examineMutants("identity and concurrency", IDENTITY_MUTANTS);
examineMutants("processes", PROCESS_MUTANTS);
examineMutants("tokens", TOKEN_MUTANTS);
examineMutants("abort", ABORT_MUTANTS);
examineMutants("validation", VALIDATION_MUTANTS);
examineMutants("trouble and closing", TROUBLE_MUTANTS);
