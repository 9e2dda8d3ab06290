import { examineMutants } from "./mutants/examine.js";
import { FORCE_MUTANTS } from "./mutants/force.js";
import { FORGETTING_MUTANTS } from "./mutants/forgetting.js";
import { HISTORY_MUTANTS } from "./mutants/history.js";
import { OBSERVE_MUTANTS } from "./mutants/observe.js";
import { REQUEST_MUTANTS } from "./mutants/request.js";
import { TRANSFER_MUTANTS } from "./mutants/transfer.js";

examineMutants("transfer", TRANSFER_MUTANTS);
examineMutants("force", FORCE_MUTANTS);
examineMutants("inspect and list", OBSERVE_MUTANTS);
examineMutants("requests and waits", REQUEST_MUTANTS);
examineMutants("history and metadata", HISTORY_MUTANTS);
examineMutants("forgetting", FORGETTING_MUTANTS);
