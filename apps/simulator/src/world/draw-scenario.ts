import { Random } from "../engine/random.js";
import { FAULT_KINDS, type Fault, type FaultKind, type HolderPlan, type Scenario, type WorldKind } from "./scenario.js";

const WORLDS = ["memory", "cas", "files"] as const satisfies readonly WorldKind[];
/** Of the worlds with a compare-and-set, those whose store tells no time. */
const SILENT = 0.4;
/** Of a clock, beside whatever else befalls a silent world: it hits only who looks just before it and just after. */
const STEPS_IN_SILENCE = 6;

const ANYWHERE: readonly WorldKind[] = [...WORLDS, "silence"];
const NETWORKED: readonly WorldKind[] = ["memory", "cas", "silence"];
/** Records are lost. Without a clock in common the next token could then be lower, and nobody promises otherwise. */
const CLOCKED: readonly WorldKind[] = WORLDS;

/** Where a kind of fault can happen. A clock of one's own needs a machine of one's own. */
const WHERE: Readonly<Record<FaultKind, readonly WorldKind[]>> = {
  delay: NETWORKED,
  reorder: NETWORKED,
  "drop-request": NETWORKED,
  "drop-reply": NETWORKED,
  duplicate: NETWORKED,
  stop: ANYWHERE,
  kill: ANYWHERE,
  "slow-disk": ANYWHERE,
  "disk-full": ANYWHERE,
  "wall-forward": ANYWHERE,
  "wall-back": ANYWHERE,
  skew: NETWORKED,
  drift: NETWORKED,
  suspend: ANYWHERE,
  "authority-restart": NETWORKED,
  restore: CLOCKED,
  wipe: CLOCKED,
  "power-cut": ["files"],
  "force-release": ANYWHERE,
  "request-release": ANYWHERE,
};

/** Ms at the end of a world during which nothing new befalls it. */
const CALM = 2_500;

/** The scenario of a seed: the same one, always. */
export function drawScenario(seed: number): Scenario {
  const random = new Random(`scenario ${seed}`);
  const world = drawWorld(random, seed);
  const ttl = random.pick([1_000, 1_500, 2_500, 6_000]);
  const horizon = Math.min(30_000, Math.max(14_000, ttl * 8));
  const names = ["ann", "bob", "cyd", "dan"].slice(0, random.whole(3, 4));
  const holders = names.map(
    (name, at): HolderPlan => ({ name, startsAt: at * random.whole(0, 600), careless: random.chance(0.35) }),
  );
  const kinds = FAULT_KINDS.filter((kind) => WHERE[kind].includes(world));
  const faults: Fault[] = [];
  for (let left = random.whole(4, 9); left > 0; left -= 1) {
    const kind = random.pick(kinds);
    // A machine that has slept by as much as its wall clock was set back cannot know of either.
    if (kind === "wall-back" && faults.some((fault) => fault.kind === "suspend")) continue;
    if (kind === "suspend" && faults.some((fault) => fault.kind === "wall-back")) continue;
    faults.push(drawFault(kind, random, { world, ttl, horizon, names }));
  }
  for (let more = world === "silence" ? STEPS_IN_SILENCE : 0; more > 0; more -= 1) {
    faults.push(drawFault("wall-forward", random, { world, ttl, horizon, names }));
  }
  return {
    seed,
    world,
    ttl,
    renewEvery: Math.round(ttl / random.pick([3, 10, 20])),
    forgetAfter: random.pick([20_000, 60_000]),
    horizon,
    sessions: random.chance(0.7) ? ["chat"] : ["chat", "mail"],
    holders,
    faults: faults.sort((a, b) => a.at - b.at),
  };
}

function drawWorld(random: Random, seed: number): WorldKind {
  const world = random.pick(WORLDS);
  return world === "cas" && new Random(`silence ${seed}`).chance(SILENT) ? "silence" : world;
}

/** Whose clocks are meddled with: where the server's have nothing to say, a holder's. */
function machineOf(world: WorldKind, holder: string, random: Random, names: readonly string[]): string {
  if (world === "files") return "all";
  return world === "silence" ? holder : random.pick([...names, "server"]);
}

type Drawn = Readonly<{ world: WorldKind; ttl: number; horizon: number; names: readonly string[] }>;

function drawFault(kind: FaultKind, random: Random, { world, ttl, horizon, names }: Drawn): Fault {
  const at = Math.round(random.between(1_000, horizon - CALM));
  const holder = random.pick(names);
  const anybody = random.chance(0.5) ? "all" : holder;
  const machine = machineOf(world, holder, random, names);
  const window = Math.round(random.between(500, 6_000));
  const fault = (target: string, lasts = 0, amount = 0): Fault => ({ kind, at, lasts, target, amount });
  switch (kind) {
    case "delay":
    case "reorder":
    case "drop-request":
    case "drop-reply":
    case "duplicate":
    case "disk-full":
      return fault(anybody, window);
    case "slow-disk":
      return fault(anybody, random.fork(`disk at ${at}`).chance(0.35) ? horizon : window);
    case "stop":
      return fault(
        world !== "files" && random.chance(0.15) ? "server" : holder,
        Math.round(random.between(20, ttl * 1.5)),
      );
    case "kill":
      return fault(holder, Math.round(random.between(100, 2_000)));
    case "wall-forward":
      // Who watches silence must not count a step as silence; one that is shorter than a ttl would seldom show it.
      return fault(
        machine,
        0,
        Math.round(world === "silence" ? random.between(ttl, ttl * 4) : random.between(100, ttl * 2)),
      );
    case "wall-back":
      return fault(machine, 0, -Math.round(random.between(100, ttl * 2)));
    case "skew":
      return { ...fault(machine, 0, Math.round(random.between(-3_600_000, 3_600_000))), at: 0 };
    case "drift":
      return { ...fault(machine, 0, random.between(0.002, 0.0045) * random.pick([1, -1])), at: 0 };
    case "suspend":
      return fault(world === "files" ? "all" : holder, Math.round(random.between(200, ttl * 1.6)));
    case "authority-restart":
      return fault("server", Math.round(random.between(100, 1_500)));
    case "restore":
      return fault("all", 0, Math.round(random.between(200, 8_000)));
    case "power-cut":
      return fault("all", Math.round(random.between(200, 1_500)));
    case "wipe":
    case "force-release":
    case "request-release":
      return fault("all");
  }
}
