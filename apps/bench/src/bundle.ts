import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { build } from "esbuild";

const app = fileURLToPath(new URL("..", import.meta.url));

/** The paths of the programs that a run forks. */
export interface Programs {
  readonly measured: string;
  readonly network: string;
}

/** Bundles the forked programs. A TypeScript loader would add code to every measured function. */
export async function bundlePrograms(cleanup: Cleanup): Promise<Programs> {
  // Where the app's dependencies resolve. They stay outside of the bundle, as users run them.
  const cache = join(app, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "bench-"));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  await build({
    entryPoints: { measured: join(app, "src/process/main.ts"), network: join(app, "src/process/network.ts") },
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
  return { measured: join(folder, "measured.mjs"), network: join(folder, "network.mjs") };
}

async function foreignDependencies(): Promise<string[]> {
  const { dependencies } = JSON.parse(await readFile(join(app, "package.json"), "utf8"));
  return Object.keys(dependencies).filter((name) => !name.startsWith("@holdfast/"));
}
