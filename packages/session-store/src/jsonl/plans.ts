/**
 * What each call of the port wants to write, given what stands in the log. A plan refuses by throwing. When the line it
 * named turns out not to count, it is asked again, and then sees what got in between.
 */

import { SessionExistsError, UnknownSessionError } from "../errors.js";
import { type AcceptedEvent, checkEventSize } from "../input.js";
import { refuseStale } from "../tally.js";
import type { LogState } from "./fold.js";
import { type EventRecord, encodeRecord, type MarkRecord } from "./record.js";

/** Who writes, and in whose name. */
export interface Stamp {
  readonly id: string;
  readonly token: bigint;
  /** Asked once for each line: epoch ms, and a name for the write that no other write has. */
  readonly next: () => { time: number; by: string };
}

export function mark({ id, token, next }: Stamp, kind: MarkRecord["kind"]): MarkRecord {
  return { kind, id, token, ...next() };
}

export function planCreation(stamp: Stamp): (state: LogState) => MarkRecord {
  return (state) => {
    refuseStale(stamp.id, stamp.token, state.highest);
    if (state.exists) throw new SessionExistsError(stamp.id);
    return mark(stamp, "created");
  };
}

/** Whether or not a session stands: the fence goes up before anything is read. */
export function planFence(stamp: Stamp): (state: LogState) => MarkRecord {
  return (state) => {
    refuseStale(stamp.id, stamp.token, state.highest);
    return mark(stamp, "fence");
  };
}

/** A session that is deleted already keeps the token of this attempt too. */
export function planDeletion(stamp: Stamp): (state: LogState) => MarkRecord {
  return (state) => {
    refuseStale(stamp.id, stamp.token, state.highest);
    return mark(stamp, state.exists ? "deleted" : "fence");
  };
}

/** @param maxBytes longest line, newline included. */
export function planEvent(stamp: Stamp, event: AcceptedEvent, maxBytes: number): (state: LogState) => EventRecord {
  return (state) => {
    refuseStale(stamp.id, stamp.token, state.highest);
    if (!state.exists) throw new UnknownSessionError(stamp.id);
    const { time, by } = stamp.next();
    const { runId, type, data } = event;
    const head = { seq: state.lastSeq + 1, token: stamp.token, time, runId, type };
    const record: EventRecord = { kind: "event", event: data === undefined ? head : { ...head, data }, by };
    checkEventSize(encodeRecord(record).length, maxBytes);
    return record;
  };
}
