/** Plans the faults of a scenario that strike at one moment. Those that last are the weather's. */

import type { Fault, FaultKind } from "./scenario.js";
import type { World } from "./world.js";

/** What each kind does at its moment, to the world; kinds that last are missing. */
const STRIKES: Partial<Record<FaultKind, (world: World, fault: Fault) => void>> = {
  stop: (world, { target, lasts }) => stop(world, target, lasts),
  kill: (world, { target, lasts }) => {
    if (!kill(world, target)) return;
    world.strike("kill");
    world.timeline.after(lasts, () => revive(world, target));
  },
  "wall-forward": stepWall,
  "wall-back": stepWall,
  suspend: (world, { target, lasts }) => suspend(world, target, lasts),
  "authority-restart": (world, { lasts }) => restartAuthority(world, lasts),
  wipe: (world) => {
    const { authority, chronicle, timeline, strike } = world;
    strike("wipe");
    beginAnew(world, () => authority.wipe());
    chronicle.fault({ fault: "delete" }, timeline.now);
  },
  "power-cut": (world, { lasts }) => cutPower(world, lasts),
  "force-release": (world) => {
    world.strike("force-release");
    for (const session of world.scenario.sessions) {
      world.operate((lease) => lease.forceRelease(session, { by: "operator" }));
    }
  },
  "request-release": (world) => {
    world.strike("request-release");
    for (const session of world.scenario.sessions) {
      world.operate((lease) => lease.requestRelease(session, { by: "operator" }));
    }
  },
};

export function befall(world: World): void {
  for (const fault of world.scenario.faults) {
    if (fault.kind === "restore") planRestore(world, fault);
    else world.timeline.at(fault.at, () => STRIKES[fault.kind]?.(world, fault));
  }
}

function stepWall(world: World, { kind, target, amount }: Fault): void {
  const clocks = world.machine(target === "all" ? "server" : target);
  world.strike(kind);
  clocks.stepWall(amount);
  if (clocks === world.authority.clocks) world.chronicle.fault({ fault: "step", by: amount }, world.timeline.now);
}

/** A memory that begins anew has forgotten how late it was: where its server's clock had been set back, it falls back too. */
function beginAnew({ authority, chronicle, timeline }: World, begin: () => void): void {
  const before = authority.now();
  begin();
  const by = authority.now() - before;
  if (by < 0) chronicle.fault({ fault: "step", by }, timeline.now);
}

function restartAuthority(world: World, lasts: number): void {
  const { authority, chronicle, timeline, strike } = world;
  const { server } = authority;
  if (server === undefined || server.process.isDead) return;
  strike("authority-restart");
  if (server.kill() === "gone") chronicle.fault({ fault: "delete" }, timeline.now);
  timeline.after(lasts, () => beginAnew(world, () => server.start()));
}

/** The machine of a world of files loses its power, and starts again. */
function cutPower(world: World, lasts: number): void {
  world.strike("power-cut");
  const struck = [...world.seats.keys()].filter((name) => kill(world, name));
  world.disk.cutPower(world.random.fork("power"));
  world.chronicle.fault({ fault: "restore" }, world.timeline.now);
  world.timeline.after(lasts, () => {
    for (const name of struck) revive(world, name);
  });
}

function planRestore(world: World, { at, amount }: Fault): void {
  const { timeline, authority, chronicle } = world;
  let copy: unknown;
  timeline.at(Math.max(0, at - amount), () => {
    copy = authority.copy();
  });
  timeline.at(at, () => {
    world.strike("restore");
    beginAnew(world, () => authority.restore(copy));
    chronicle.fault({ fault: "restore" }, timeline.now);
  });
}

function stop(world: World, target: string, lasts: number): void {
  const process = target === "server" ? world.authority.server?.process : world.seats.get(target)?.process;
  if (process === undefined || process.isDead) return;
  world.strike("stop");
  process.stop();
  world.chronicle.stopped(process.name);
  world.timeline.after(lasts, () => {
    process.continue();
    world.chronicle.continued(process.name);
  });
}

/** A machine sleeps, and with it whatever runs on it. */
function suspend(world: World, target: string, lasts: number): void {
  const { seats, timeline, scenario } = world;
  const asleep = [...seats.values()].filter(
    ({ plan, process }) => !process.isDead && (target === "all" || plan.name === target),
  );
  if (asleep.length === 0) return;
  world.strike("suspend");
  for (const { process } of asleep) process.stop();
  timeline.after(lasts, () => {
    const machines = scenario.world === "files" ? ["host"] : asleep.map(({ plan }) => plan.name);
    for (const machine of machines) world.machine(machine).hasSlept(lasts);
    for (const { process } of asleep) process.continue();
  });
}

/** False if there is nothing to kill. */
function kill(world: World, name: string): boolean {
  const seat = world.seats.get(name);
  if (seat === undefined || seat.process.isDead) return false;
  seat.process.kill();
  world.chronicle.killed(seat.process.name, world.timeline.now);
  return true;
}

function revive(world: World, name: string): void {
  const seat = world.seats.get(name);
  if (seat === undefined || !seat.process.isDead || world.isOver) return;
  const incarnation = Number(/-(\d+)$/.exec(seat.process.name)?.[1] ?? 1);
  world.seat(seat.plan, incarnation + 1);
}
