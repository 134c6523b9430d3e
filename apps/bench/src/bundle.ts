import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { build } from "esbuild";

const app = fileURLToPath(new URL("..", import.meta.url));

/**
 * Makes the program of the measured processes out of its sources, and answers its path. Running the sources themselves
 * would not do: what translates them on the way adds code of its own to every function.
 */
export async function bundleProgram(cleanup: Cleanup): Promise<string> {
  // In the reach of the app's dependencies, which are left as they were installed.
  const cache = join(app, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "bench-"));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  await build({
    entryPoints: [join(app, "src/process/main.ts")],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["@holdfast/source"],
    external: await foreignDependencies(),
    logLevel: "silent",
  });
  return join(folder, "main.mjs");
}

async function foreignDependencies(): Promise<string[]> {
  const { dependencies } = JSON.parse(await readFile(join(app, "package.json"), "utf8"));
  return Object.keys(dependencies).filter((name) => !name.startsWith("@holdfast/"));
}
