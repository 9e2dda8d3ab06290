/** The laws of a fenced store, checked on what its callers were told and on what stands in it at the end. */

import {
  JsonlSessionStore,
  type SessionStore,
  StaleTokenError,
  type StoredEvent,
  storeErrorCode,
} from "../../src/index.js";
import { type Disk, type Gate, openGate } from "./disk.js";
import type { Process } from "./explore.js";

export const ID = "chat";

interface Call {
  readonly op: "create" | "open" | "append" | "delete";
  readonly token: bigint;
  /** Payload of an append: no two calls share one. */
  readonly data?: string;
  /** A refusal that is in order here: by code. */
  readonly mayBe?: readonly string[];
}

interface Told {
  readonly call: Call;
  /** `pending`: the process died, or the disk failed it; anything may have happened. */
  outcome: "pending" | "acknowledged" | "refused";
  seen?: readonly StoredEvent[];
}

/** A store as one process has it. Without a gate it is not held up. */
export function storeOn(disk: Disk, writer: string, gate: Gate = openGate): JsonlSessionStore {
  return new JsonlSessionStore({ directory: "/", files: disk.files(gate), writer, clock: { wall: () => 1 } });
}

/** Shorthands for the calls of a history. */
export const create = (token: bigint, ...mayBe: string[]): Call => ({ op: "create", token, mayBe });
export const open = (token: bigint, ...mayBe: string[]): Call => ({ op: "open", token, mayBe });
export const append = (token: bigint, data: string, ...mayBe: string[]): Call => ({ op: "append", token, data, mayBe });
export const remove = (token: bigint): Call => ({ op: "delete", token });

export class History {
  readonly #disk: Disk;
  readonly #told: Told[] = [];

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** A process that makes these calls, and stops at the first refusal, as a holder does. */
  process(name: string, ...calls: readonly Call[]): Process {
    return {
      name,
      run: async (gate) => {
        const store = storeOn(this.#disk, name, gate);
        for (const call of calls) if (!(await this.#make(store, call))) return;
      },
    };
  }

  async #make(store: SessionStore, call: Call): Promise<boolean> {
    const told: Told = { call, outcome: "pending" };
    this.#told.push(told);
    try {
      if (call.op === "create") await store.create(ID, call.token);
      if (call.op === "open") told.seen = (await store.open(ID, call.token)).tail;
      if (call.op === "append") await store.append(ID, call.token, { runId: "r", type: "t", data: call.data ?? "" });
      if (call.op === "delete") await store.delete(ID, call.token);
      told.outcome = "acknowledged";
      return true;
    } catch (error) {
      const code = storeErrorCode(error);
      if (code === undefined) throw error;
      if (code !== "unavailable") told.outcome = "refused";
      if (error instanceof StaleTokenError) this.#checkRefusal(call, error);
      else if (code !== "unavailable" && !call.mayBe?.includes(code)) throw error;
      return false;
    }
  }

  /** A refusal has to have its reason: somebody did come with the higher token. */
  #checkRefusal({ token }: Call, { highest }: StaleTokenError): void {
    const others = this.#told.map(({ call }) => call.token);
    if (highest <= token || !others.includes(highest))
      throw new Error(`${token} refused for ${highest}, which nobody holds`);
  }

  /** Reads with a store that knows nothing. @throws on the first law that does not hold. */
  async verify(): Promise<void> {
    const store = storeOn(this.#disk, "judge");
    const highest = (await store.highest(ID)) ?? -1n;
    const { sessions } = await store.list();
    const events = sessions.length === 0 ? [] : (await store.read(ID)).events;
    for (const [index, { seq, token }] of events.entries()) {
      law(seq === index + 1, `seq ${seq} stands at place ${index + 1}`);
      law(token >= (events[index - 1]?.token ?? 0n), `token ${token} follows a higher one`);
    }
    const stored = events.map(({ data }) => data);
    law(new Set(stored).size === stored.length, `stored twice: ${stored.join()}`);
    for (const told of this.#told) {
      if (told.outcome === "acknowledged") this.#checkAcknowledged(told, events, highest, sessions.length > 0);
      if (told.outcome === "refused" && told.call.op === "append") {
        law(!stored.includes(told.call.data ?? ""), `refused and stored: ${told.call.data}`);
      }
    }
  }

  #checkAcknowledged({ call, seen }: Told, events: readonly StoredEvent[], highest: bigint, exists: boolean): void {
    law(highest >= call.token, `token ${call.token} was acknowledged, the highest is ${highest}`);
    // A deletion that somebody asked for, by the same or a higher token, explains a loss.
    const deleted = this.#told.some(
      (told) => told.call.op === "delete" && told.call.token >= call.token && told.outcome !== "refused",
    );
    if (deleted) return;
    if (call.op === "create") law(exists, `created by ${call.token} and gone`);
    if (call.op === "append") {
      law(
        events.some(({ data, token }) => data === call.data && token === call.token),
        `acknowledged and lost: ${call.data}`,
      );
    }
    if (seen === undefined) return;
    for (const event of events) {
      const known = seen.some(({ seq, data }) => seq === event.seq && data === event.data);
      law(
        known || event.token >= call.token,
        `${event.data} of ${event.token} came in behind the fence of ${call.token}`,
      );
    }
    law(
      seen.every(({ data }) => events.some((event) => event.data === data)),
      `read by ${call.token} and gone`,
    );
  }
}

function law(holds: boolean, violation: string): void {
  if (!holds) throw new Error(violation);
}
