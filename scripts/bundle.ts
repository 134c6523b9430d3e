/**
 * `pnpm build`, after `tsc` has written the declarations of the package in this folder: writes `dist/package`, the
 * folder that is published. Its layout: docs/decisions/015-one-module-for-each-entry.md and 021-esm-and-commonjs.md.
 */
import { existsSync } from "node:fs";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { writeManifestAndPages } from "./lib/published-folder.ts";
import { root } from "./lib/workspace.ts";

interface Entry {
  readonly "@holdfast/source": string;
  readonly require?: string;
}

interface Manifest {
  readonly exports: Readonly<Record<string, Entry>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly sideEffects?: boolean;
}

/** Dependencies without a CommonJS build, which older runtimes cannot require. They are bundled. */
const esmOnly = ["tinyqueue"];

const separateModules: Plugin = {
  name: "modules stay separate files",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === "entry-point" || esmOnly.includes(path) ? undefined : { path, external: true },
    );
  },
};

const { exports, bin = {}, sideEffects }: Manifest = JSON.parse(await readFile("package.json", "utf8"));
const imported = Object.values(exports);
const hasCommonJs = imported.some((entry) => entry.require);
/**
 * The folder of the ES modules. In a library without CommonJS it is the top, for tools that do not know `exports`. In a
 * program it is one folder deep, like its sources, as the program reads its package.json.
 */
const modules = hasCommonJs || imported.length === 0 ? "dist/package/esm" : "dist/package";

await rm("dist/package", { recursive: true, force: true });
await bundleModules([...imported.map((entry) => entry["@holdfast/source"]), ...Object.values(bin)]);
if (hasCommonJs) await convertToCommonJs();
await writeManifestAndPages(process.cwd(), root);

/** Bundles one ES module for each entry point and each program. */
async function bundleModules(entryPoints: string[]): Promise<void> {
  await build({
    ...common(),
    entryPoints,
    outdir: modules,
    packages: "external", // a copy of a package in another would give its classes a second identity
    splitting: true, // so would a copy of what two entries share
    chunkNames: "shared-[hash]",
    format: "esm",
    platform: "neutral",
  });
  if (sideEffects === false) await dropBareImports();
  if (imported.length > 0) await copyDeclarations(modules); // nobody can import a program
  if (modules === "dist/package") return;
  await writeFile(`${modules}/package.json`, `${JSON.stringify({ type: "module", sideEffects }, null, 2)}\n`);
}

/** Drops imports of shared code without names, which bundlers warn about in a package without side effects. */
async function dropBareImports(): Promise<void> {
  for (const file of (await readdir(modules)).filter((name) => name.endsWith(".js"))) {
    const code = await readFile(`${modules}/${file}`, "utf8");
    await writeFile(`${modules}/${file}`, code.replaceAll(/^import "\.\/shared-\w+\.js";$/gm, ""));
  }
}

/** Converts each module to CommonJS. */
async function convertToCommonJs(): Promise<void> {
  const files = await readdir(modules);
  await build({
    ...common(),
    entryPoints: files.filter((file) => file.endsWith(".js")).map((file) => `${modules}/${file}`),
    outdir: "dist/package",
    plugins: [separateModules],
    format: "cjs",
    platform: "node", // lists the exported names for `import` in Node
  });
  await copyDeclarations("dist/package");
}

/** Copies the declarations, without those whose source was removed. */
async function copyDeclarations(folder: string): Promise<void> {
  const hasSource = (path: string) => existsSync(path.replace("dist/types", "src").replace(/\.d\.ts$/, ".ts"));
  await cp("dist/types", folder, { recursive: true, filter: hasSource });
}

function common(): BuildOptions {
  return { bundle: true, target: "es2022", logLevel: "warning" };
}
