/** What becomes of records when a directory is meddled with in the middle of a write, as the judge is told of it. */

import { beforeEach, expect, it } from "vitest";
import { HostClocks } from "../src/engine/host-clock.js";
import { Random } from "../src/engine/random.js";
import { SimProcess } from "../src/engine/sim-process.js";
import { Timeline } from "../src/engine/timeline.js";
import { Disk } from "../src/world/disk.js";
import { FileAuthority } from "../src/world/file-authority.js";
import { FileCalls } from "../src/world/file-calls.js";

const TTL = 10_000;

let timeline: Timeline;
let clocks: HostClocks;
let disk: Disk;
let authority: FileAuthority;
/** Ms that a step of each process takes to begin, and again to be heard of. */
let pace: Map<string, number>;
let told: string[];
/** Called when a process has stored a record. */
let onStored: (process: string) => void;

beforeEach(() => {
  timeline = new Timeline();
  clocks = new HostClocks(timeline, { skew: 0, rate: 1 });
  disk = new Disk(() => clocks.wall());
  pace = new Map();
  told = [];
  onStored = () => undefined;
  const weather = { step: ({ name }: SimProcess) => pace.get(name) ?? 0.5, isFull: () => false };
  authority = new FileAuthority({
    disk,
    clocks,
    callsOf: (process) => new FileCalls(process, timeline, weather),
    isGone: () => false,
    onStored: (process, session, { standing }) => {
      told.push(`${process}: ${session} ${standing}`);
      onStored(process);
    },
    onSeenAgain: () => told.push("seen again"),
    onLost: (session, left) => told.push(`${session} lost${left === "older" ? ", an older record counts" : ""}`),
    onRevival: () => told.push("revived"),
    ttl: TTL,
    forgetAfter: 60_000,
  });
});

function leaseOf(name: string) {
  const onThrow = (error: unknown): never => {
    throw error;
  };
  const pid = name.charCodeAt(0);
  return authority.leaseFor(new SimProcess({ name, pid, timeline, clocks, random: new Random(name), onThrow }));
}

async function lived<T>(call: Promise<T>): Promise<T> {
  let over = false;
  const end = (): void => {
    over = true;
  };
  call.then(end, end);
  await timeline.run(timeline.now + TTL, () => over);
  return call;
}

it("a record that was written upon one that is taken back is lost with it", async () => {
  const [ann, bob] = [leaseOf("ann"), leaseOf("bob")];
  const held = await lived(ann.acquire("chat", "ann-1"));
  // She has found the record before hers, and links after it is gone.
  pace.set("ann", 10);
  timeline.after(25, () => authority.wipe());
  const releasing = ann.release(held);
  // He builds on her link before she takes it back, and looks afterwards.
  onStored = () => pace.set("bob", 30);
  await timeline.run(timeline.now + 72);
  const acquired = await lived(bob.acquire("chat", "bob-1"));
  expect(acquired.owner).toBe("bob-1");
  await lived(releasing);
  expect(told).toEqual(["ann: chat held", "seen again", "bob: chat held", "chat lost", "bob: chat held"]);
});

it("a process that tidies after an older copy was restored may remove a record of those who came after it", async () => {
  const [ann, bob] = [leaseOf("ann"), leaseOf("bob")];
  const held = await lived(ann.acquire("chat", "ann-1"));
  const copy = authority.copy();
  const once = await lived(ann.renew(held));
  // She has written twice since, has looked, and has still to remove what she wrote first.
  pace.set("ann", 100);
  const renewing = ann.renew(once);
  await timeline.run(timeline.now + 850);
  authority.restore(copy);
  await lived(bob.forceRelease("chat"));
  expect(await lived(renewing)).toMatchObject({ token: held.token });
  expect(told.slice(3)).toEqual(["bob: chat forced", "chat lost"]);
});

it("a process that tidies after an older copy was restored may bring back what is older still", async () => {
  const ann = leaseOf("ann");
  const held = await lived(ann.acquire("chat", "ann-1"));
  pace.set("ann", 100);
  const renewing = ann.renew(held);
  // Both of her records are in the copy: she has linked the second, and not removed the first.
  await timeline.run(timeline.now + 350);
  const copy = authority.copy();
  const once = await lived(renewing);
  pace.set("ann", 100);
  const again = ann.renew(once);
  await timeline.run(timeline.now + 850);
  authority.restore(copy);
  expect(await lived(again)).toMatchObject({ token: held.token });
  expect(told.slice(3)).toEqual(["chat lost, an older record counts"]);
});

it("a record that was written upon what such a process removes is lost with it", async () => {
  const [ann, bob] = [leaseOf("ann"), leaseOf("bob")];
  const held = await lived(ann.acquire("chat", "ann-1"));
  const copy = authority.copy();
  pace.set("ann", 100);
  const renewing = ann.renew(held);
  // She has looked, and has still to remove what she wrote first.
  await timeline.run(timeline.now + 850);
  authority.restore(copy);
  // He has linked upon it, and looks after she has removed it.
  onStored = () => pace.set("bob", 300);
  const forcing = bob.forceRelease("chat");
  await lived(renewing);
  await lived(forcing);
  expect(told.slice(2)).toEqual(["bob: chat forced", "chat lost"]);
});

it("whoever tidies below the record that counts loses nothing, after a copy was restored as before", async () => {
  const [ann, bob] = [leaseOf("ann"), leaseOf("bob")];
  const held = await lived(ann.acquire("chat", "ann-1"));
  await lived(ann.renew(held));
  authority.restore(authority.copy());
  await lived(bob.forceRelease("chat"));
  await lived(ann.acquire("chat", "ann-2"));
  expect(told).toEqual(["ann: chat held", "ann: chat held", "bob: chat forced", "ann: chat held"]);
});
