import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { build } from "esbuild";

/**
 * Bundles programs that an app forks, and resolves with their paths. A bundle starts faster than a source, and has no
 * code of a TypeScript loader in its functions.
 *
 * @param app the folder of the app
 * @param entryPoints the sources of the programs, relative to the folder, by name
 * @param cleanup removes the bundles
 */
export async function bundlePrograms<Name extends string>(
  app: string,
  entryPoints: Readonly<Record<Name, string>>,
  cleanup: Cleanup,
): Promise<Record<Name, string>> {
  // Where the app's dependencies resolve. They stay outside of the bundle, as users run them.
  const cache = join(app, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "programs-"));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const names = Object.keys(entryPoints) as Name[];
  await build({
    entryPoints: Object.fromEntries(names.map((name) => [name, join(app, entryPoints[name])])),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["@holdfast/source"],
    external: await foreignDependencies(app),
    logLevel: "silent",
  });
  return Object.fromEntries(names.map((name) => [name, join(folder, `${name}.mjs`)])) as Record<Name, string>;
}

async function foreignDependencies(app: string): Promise<string[]> {
  const { dependencies } = JSON.parse(await readFile(join(app, "package.json"), "utf8"));
  return Object.keys(dependencies).filter((name) => !name.startsWith("@holdfast/"));
}
