/** Plans the faults of a scenario that strike at one moment. Those that last are the weather's. */

import type { Fault } from "./scenario.js";
import type { World } from "./world.js";

export function befall(world: World): void {
  for (const fault of world.scenario.faults) {
    if (fault.kind === "restore") {
      planRestore(world, fault);
      continue;
    }
    world.timeline.at(fault.at, () => strike(world, fault));
  }
}

function strike(world: World, fault: Fault): void {
  const { timeline, authority, chronicle, scenario, seats } = world;
  const { kind, lasts, target, amount } = fault;
  switch (kind) {
    case "stop":
      return stop(world, target, lasts);
    case "kill": {
      const seat = seats.get(target);
      if (seat === undefined || seat.process.isDead) return;
      world.strike(kind);
      kill(world, target);
      timeline.after(lasts, () => revive(world, target));
      return;
    }
    case "wall-forward":
    case "wall-back": {
      world.strike(kind);
      const machines = target === "all" ? ["server"] : [target];
      for (const machine of machines) {
        world.machine(machine).stepWall(amount);
        if (world.machine(machine) !== authority.clocks) continue;
        chronicle.fault({ fault: "step", by: amount }, timeline.now);
      }
      return;
    }
    case "suspend":
      return suspend(world, target, lasts);
    case "authority-restart": {
      const { server } = authority;
      if (server === undefined || server.process.isDead) return;
      world.strike(kind);
      const fate = server.kill();
      if (fate === "gone") chronicle.fault({ fault: "delete" }, timeline.now);
      timeline.after(lasts, () => server.start());
      return;
    }
    case "wipe":
      world.strike(kind);
      authority.wipe();
      chronicle.fault({ fault: "delete" }, timeline.now);
      return;
    case "power-cut": {
      world.strike(kind);
      const struck = [...seats.keys()].filter((name) => seats.get(name)?.process.isDead === false);
      for (const name of struck) kill(world, name);
      world.disk.cutPower(world.random.fork("power"));
      chronicle.fault({ fault: "restore" }, timeline.now);
      timeline.after(lasts, () => {
        for (const name of struck) revive(world, name);
      });
      return;
    }
    case "force-release":
    case "request-release":
      world.strike(kind);
      for (const session of scenario.sessions) {
        world.operate((lease) =>
          kind === "force-release"
            ? lease.forceRelease(session, { by: "operator" })
            : lease.requestRelease(session, { by: "operator" }),
        );
      }
      return;
    default:
      return;
  }
}

function planRestore(world: World, { at, amount }: Fault): void {
  const { timeline, authority, chronicle } = world;
  let copy: unknown;
  timeline.at(Math.max(0, at - amount), () => {
    copy = authority.copy();
  });
  timeline.at(at, () => {
    world.strike("restore");
    authority.restore(copy);
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

function kill(world: World, name: string): void {
  const seat = world.seats.get(name);
  if (seat === undefined || seat.process.isDead) return;
  seat.process.kill();
  world.chronicle.killed(seat.process.name, world.timeline.now);
}

function revive(world: World, name: string): void {
  const seat = world.seats.get(name);
  if (seat === undefined || !seat.process.isDead || world.isOver) return;
  const incarnation = Number(/-(\d+)$/.exec(seat.process.name)?.[1] ?? 1);
  world.seat(seat.plan, incarnation + 1);
}
