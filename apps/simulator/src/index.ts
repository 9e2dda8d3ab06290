export { Campaign, type CampaignOptions, runCampaign } from "./campaign.js";
export { MUTANTS, type Mutant } from "./mutants/mutants.js";
export type { SeedReport } from "./orders.js";
export { type Outcome, runScenario } from "./run-scenario.js";
export { shrink } from "./shrink.js";
export { campaignText } from "./tell.js";
export { drawScenario } from "./world/draw-scenario.js";
export {
  FAULT_KINDS,
  type Fault,
  type FaultKind,
  type HolderPlan,
  type Scenario,
  type WorldKind,
} from "./world/scenario.js";
