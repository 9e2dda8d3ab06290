import { conformanceTests } from "@leasehold/conformance/vitest";
import { afterAll } from "vitest";
import { ExaminedDirectory } from "./examined-directory.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";

const FORGET_AFTER = 60_000;

afterAll(removeDirectories);

conformanceTests({
  name: "flocklease",
  forgetAfter: FORGET_AFTER,
  open: () => new ExaminedDirectory(temporaryDirectory(), FORGET_AFTER).opened(),
});
