/** A store in memory behind a real server on loopback, as the exam sees it: a fake clock that waits for the network. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { FakeClock, type Opened } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";
import { type Clock, type FullSessionLease, forwardLease, type SessionLease } from "@leasehold/session-lease";
import { type ClientTls, grpcdriver, LeaseServer, type ServerTls } from "../src/index.js";
import { BaseServer } from "./base-server.js";
import { ExaminedStore } from "./examined-store.js";

export const FORGET_AFTER = 60_000;

/** Turns of the event loop without a call under way or a socket just closed, after which nothing more is coming. */
const QUIET_TURNS = 6;

export interface Served {
  /** A driver that speaks the base protocol alone. */
  readonly base?: boolean | undefined;
  readonly tls?: Readonly<{ server: ServerTls; client: ClientTls }> | undefined;
}

export async function servedStore({ base = false, tls }: Served = {}): Promise<Opened> {
  let underWay = 0;
  let stalled = false;
  const accepted = new Set<Socket>();
  const clock = new FakeClock({
    settle: async () => {
      for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        if (underWay > 0 && !stalled) turns = 0;
      }
    },
  });
  let timers = 0;
  /** Timers of the clients alone: the server's are its own business, and its backend keeps dead records for a while. */
  const clientClock: Clock = {
    wall: () => clock.wall(),
    monotonic: () => clock.monotonic(),
    schedule: (callback, delay) => {
      let set = true;
      const unset = (): void => {
        if (set) timers -= 1;
        set = false;
      };
      timers += 1;
      const timer = clock.schedule(() => {
        unset();
        callback();
      }, delay);
      return {
        cancel: () => {
          unset();
          timer.cancel();
        },
      };
    },
  };
  const store = new ExaminedStore();
  const backend = memlease({ clock, store, forgetAfter: FORGET_AFTER });
  const server = base ? new BaseServer(backend) : new LeaseServer({ lease: backend, tls: tls?.server, clock });
  const port = await server.listen("127.0.0.1:0");

  // The server is in this process, but what keeps the exam's process alive is to be the client's doing alone.
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort !== port) return;
    socket.unref();
    accepted.add(socket);
    socket.once("close", () => accepted.delete(socket));
  };
  subscribe("net.server.socket", onSocket);

  const open = async (): Promise<FullSessionLease> => {
    const lease = await grpcdriver({ target: `localhost:${port}`, tls: tls?.client, clock: clientClock });
    return counted(lease);
  };
  const counted = (lease: FullSessionLease): FullSessionLease => {
    const count = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
      return async (...args: A): Promise<R> => {
        underWay += 1;
        try {
          return await call.apply(lease, args);
        } finally {
          underWay -= 1;
        }
      };
    };
    const { acquire, renew, release, transfer, inspect, list, forceRelease, requestRelease, domain, close } = lease;
    const calls = { acquire, renew, release, transfer, inspect, list, forceRelease, requestRelease, domain, close };
    const overrides = Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, count(call as never)]));
    return forwardLease(lease, overrides);
  };

  return {
    lease: await open(),
    reopen: open as () => Promise<SessionLease>,
    advance: (ms) => clock.advance(ms),
    now: () => clock.wall(),
    step: (ms) => clock.stepWall(ms),
    ...(base && { above: false }),
    timers: () => timers,
    outage: () => store.outage(),
    stall: () => {
      const resume = store.stall();
      stalled = true;
      return () => {
        stalled = false;
        resume();
      };
    },
    oracle: store.oracle,
    store,
    close: async () => {
      await server.close(0);
      await backend.close();
      unsubscribe("net.server.socket", onSocket);
    },
  };
}
