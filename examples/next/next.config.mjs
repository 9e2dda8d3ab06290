import { fileURLToPath } from "node:url";

/** The packages come from this repository, which is above this folder. In a project of your own leave this out. */
const root = fileURLToPath(new URL("../..", import.meta.url));

export default {
  turbopack: { root },
  outputFileTracingRoot: root,
  // It is built once, for its test.
  experimental: { turbopackFileSystemCacheForBuild: false },
};
