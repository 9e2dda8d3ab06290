import { describe, expect, it } from "vitest";
import { Random } from "../src/engine/random.js";
import { Disk } from "../src/world/disk.js";

const bytes = (text: string): Buffer => Buffer.from(text);

function diskWith(...paths: string[]): Disk {
  const disk = new Disk(() => 0);
  disk.makeAll("/d");
  for (const path of paths) disk.add(path, disk.newFile(bytes("text"), true));
  return disk;
}

const names = (disk: Disk): string[] => [...disk.directory("/d").entries.keys()].sort();
/** Outcomes of a power cut under fifty different chances. */
const cuts = (prepare: (disk: Disk) => void, look: (disk: Disk) => string): Set<string> =>
  new Set(
    Array.from({ length: 50 }, (_, seed) => {
      const disk = diskWith("/d/a");
      disk.sync("/d");
      prepare(disk);
      disk.cutPower(new Random(`${seed}`));
      return look(disk);
    }),
  );

describe("a power cut", () => {
  it("may undo changes of names since the last sync, the later before the earlier", () => {
    const seen = cuts(
      (disk) => {
        disk.add("/d/b", disk.newFile(bytes("b"), true));
        disk.remove("/d/a");
      },
      (disk) => names(disk).join(),
    );
    expect([...seen].sort()).toEqual(["a", "a,b", "b"]);
  });

  it("leaves what was synced", () => {
    const seen = cuts(
      (disk) => {
        disk.add("/d/b", disk.newFile(bytes("b"), true));
        disk.sync("/d");
      },
      (disk) => names(disk).join(),
    );
    expect([...seen]).toEqual(["a,b"]);
  });

  it("cuts a file anywhere behind what was synced", () => {
    const seen = cuts(
      (disk) => {
        const file = disk.file("/d/a");
        if (file !== undefined) disk.append(file, bytes("++"));
      },
      (disk) => disk.file("/d/a")?.bytes.toString() ?? "gone",
    );
    expect([...seen].sort()).toEqual(["text", "text+", "text++"]);
  });
});

describe("a listing", () => {
  it("shows what was there all the time, and may show what was there for a while", () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 50; seed += 1) {
      const disk = diskWith("/d/a", "/d/gone");
      const listing = disk.beginListing("/d");
      disk.remove("/d/gone");
      disk.add("/d/come", disk.newFile(bytes(""), true));
      seen.add(
        disk
          .endListing(listing, new Random(`${seed}`))
          .sort()
          .join(),
      );
    }
    expect([...seen].sort()).toEqual(["a", "a,come", "a,come,gone", "a,gone"]);
  });
});

it("a restored copy is as it was, and stands alone", () => {
  const disk = diskWith("/d/a");
  const copy = disk.copy("/d");
  disk.remove("/d/a");
  disk.restore("/d", copy);
  expect(names(disk)).toEqual(["a"]);
  disk.remove("/d/a");
  disk.restore("/d", copy);
  expect(names(disk)).toEqual(["a"]);
});
