/**
 * Two servers on one store, each started again whenever it is gone, and what is done to them: killed, stopped past the ttl.
 * All that their leases and stores are asked, and what their runs believe, is part of one history.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { Harness } from "@leasehold/conformance/processes";
import { type AtEnd, ServerProcess } from "../server-process.js";

/** One of the two places. Whoever calls finds the server that stands there now, if one does. */
export interface Place {
  readonly name: string;
  server: ServerProcess | undefined;
}

export class Fleet {
  readonly north: Place = { name: "north", server: undefined };
  readonly south: Place = { name: "south", server: undefined };
  readonly counts = { started: 0, killed: 0, stopped: 0 };
  readonly #harness: Harness;
  readonly #flags: readonly string[];
  readonly #atEnd: AtEnd;

  constructor(harness: Harness, flags: readonly string[], atEnd: AtEnd) {
    this.#harness = harness;
    this.#flags = flags;
    this.#atEnd = atEnd;
  }

  async start(place: Place): Promise<ServerProcess> {
    this.counts.started += 1;
    const history = { harness: this.#harness, name: `${place.name}-${this.counts.started}` };
    place.server = await ServerProcess.start(this.#flags, { history, atEnd: this.#atEnd });
    return place.server;
  }

  /** SIGKILL, and another in its place. */
  async kill(place: Place): Promise<void> {
    const { server } = place;
    place.server = undefined;
    await server?.kill();
    this.counts.killed += 1;
    await this.start(place);
  }

  /** SIGSTOP for so many ms. */
  async stop({ server }: Place, ms: number): Promise<void> {
    await server?.stop();
    this.counts.stopped += 1;
    await wait(ms);
    server?.cont();
  }

  /** SIGTERM, and their end. Resolves to what both have logged. */
  async drain(): Promise<string> {
    const exits = [this.north, this.south].map(async ({ server }) => {
      server?.terminate();
      return await server?.exited;
    });
    return (await Promise.all(exits)).map((exit) => exit?.stderr.slice(-4_000)).join("\n");
  }
}
