import { FakeClock, playTransitions, transitionVectors } from "@leasehold/conformance";
import { afterAll, expect, test } from "vitest";
import { flocklease } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { unsyncedFiles } from "./unsynced-files.js";

afterAll(removeDirectories);

test("every recorded sequence plays exactly", async () => {
  const sequences = transitionVectors();
  const disagreements = await playTransitions(sequences, ({ start, ttl }) => {
    const clock = new FakeClock({ wall: start });
    return {
      lease: flocklease({ dir: temporaryDirectory(), clock, ttl, forgetAfter: 2 ** 40, files: unsyncedFiles }),
      setTime: (at) => clock.stepWall(at - clock.wall()),
    };
  });
  expect(sequences).toHaveLength(300);
  expect(disagreements).toEqual([]);
}, 120_000);
