import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Whose test files change what all files of one worker would have in common; the others share a worker, which costs less. */
const ISOLATED: ReadonlySet<string> = new Set(["packages/leash"]);

/**
 * Begun last, one of these would keep one worker busy while the others have nothing left to do. The longest first, and those
 * that wait most of their time between those that compute.
 */
const LONGEST = [
  "apps/simulator/test/campaign.test.ts",
  "apps/server/test/takeover.test.ts",
  "packages/leash/test/holder-death.test.ts",
  "apps/server/test/agent.test.ts",
  "apps/server/test/drain.test.ts",
  "examples/next/test/server.test.ts",
  "apps/simulator/test/mutants.test.ts",
  "packages/flocklease/test/stale-lock-rounds.test.ts",
  "packages/flocklease/test/interleavings.test.ts",
  "packages/grpcdriver/test/conformance.test.ts",
  "packages/grpcdriver/test/protocol.test.ts",
  "apps/server/test/second-request.test.ts",
  "packages/flocklease/test/conformance.test.ts",
  "apps/server/test/story.test.ts",
  "packages/session-store/test/processes.test.ts",
  "apps/server/test/start.test.ts",
  "apps/server/test/bad-input.test.ts",
  "apps/server/test/idempotency.test.ts",
  "packages/flocklease/test/stopped-writer.test.ts",
  "packages/leash/test/leash.test.ts",
  "packages/session-store/test/model/interleavings.test.ts",
  "examples/pm2/test/reload.test.ts",
  "apps/server/test/follow.test.ts",
  "packages/session-runs/test/process.test.ts",
  "apps/server/test/process-managers.test.ts",
  "examples/systemd/test/service.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONGEST.findIndex((path) => moduleId.endsWith(path));
      return rank === -1 ? LONGEST.length : rank;
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

function inside(group: string): string[] {
  const roots = readdirSync(new URL(group, import.meta.url)).map((name) => `${group}/${name}`);
  // A folder without one is what git leaves of a package of another branch.
  return roots.filter((root) => existsSync(new URL(`${root}/package.json`, import.meta.url)));
}

/** Ms. Only what hangs is to be ended: the default is little for a test that starts processes on a busy machine. */
const PATIENCE = { testTimeout: 30_000, hookTimeout: 30_000 };

function project(root: string): TestProjectInlineConfiguration {
  const { name } = JSON.parse(readFileSync(new URL(`${root}/package.json`, import.meta.url), "utf8"));
  return { root, test: { name, isolate: ISOLATED.has(root), ...PATIENCE } };
}

/** What needs a service that takes minutes to get, and is there for who asks: `npm run test:live`. One file after the other. */
const LIVE: TestProjectInlineConfiguration = {
  root: "live",
  test: { name: "live", isolate: false, fileParallelism: false, globalSetup: "test/global-setup.ts", ...PATIENCE },
};

export default defineConfig({
  test: {
    projects: [
      ...["packages", "apps", "examples"].flatMap(inside).map(project),
      project("conformance"),
      { root: "scripts", test: { name: "scripts", isolate: false, ...PATIENCE } },
      ...(process.argv.includes("--project=live") ? [LIVE] : []),
    ],
    // Half of its time a test waits: for a process, a signal, the end of a lease. Meanwhile another one has its core.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
});
