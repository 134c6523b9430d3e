import { fileURLToPath } from "node:url";
import { bundlePrograms as bundle } from "@holdfast/app-kit/bundle";
import type { Cleanup } from "@holdfast/testkit/cleanup";

const app = fileURLToPath(new URL("..", import.meta.url));

/** The programs that a run forks. */
const forked = { measured: "src/process/main.ts", network: "src/process/network.ts" };

/** The paths of the programs that a run forks. */
export type Programs = Readonly<Record<keyof typeof forked, string>>;

/** Bundles the forked programs. A TypeScript loader would add code to every measured function. */
export function bundlePrograms(cleanup: Cleanup): Promise<Programs> {
  return bundle(app, forked, cleanup);
}
