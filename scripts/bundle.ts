/**
 * `pnpm build`, after `tsc` has written the declarations of the package in this folder: makes `dist/package`, the folder
 * that is published. docs/decisions/015-one-module-for-each-entry.md and 021-esm-and-commonjs.md explain what is in it.
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

/** Dependencies that CommonJS cannot require everywhere: they are ES modules only. They become a part of what needs them. */
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
 * Where the ES modules lie. A library without CommonJS has them at the top, where resolution finds them that does not know
 * `exports`. A program has them one folder deep, as its sources are: it reads its package.json.
 */
const modules = hasCommonJs || imported.length === 0 ? "dist/package/esm" : "dist/package";

await rm("dist/package", { recursive: true, force: true });
await bundleModules([...imported.map((entry) => entry["@holdfast/source"]), ...Object.values(bin)]);
if (hasCommonJs) await convertToCommonJs();
await writeManifestAndPages(process.cwd(), root);

/** Bundles one ES module for each entry, whether it is imported or run. */
async function bundleModules(entryPoints: string[]): Promise<void> {
  await build({
    ...common(),
    entryPoints,
    outdir: modules,
    packages: "external", // a class has one identity only if its package is never copied into another
    splitting: true, // and if what two entries have in common is there once
    chunkNames: "shared",
    format: "esm",
    platform: "neutral",
  });
  await copyDeclarations(modules);
  if (modules === "dist/package") return;
  await writeFile(`${modules}/package.json`, `${JSON.stringify({ type: "module", sideEffects }, null, 2)}\n`);
}

/** Converts each module: the same files once more, as CommonJS. */
async function convertToCommonJs(): Promise<void> {
  const files = await readdir(modules);
  await build({
    ...common(),
    entryPoints: files.filter((file) => file.endsWith(".js")).map((file) => `${modules}/${file}`),
    outdir: "dist/package",
    plugins: [separateModules],
    format: "cjs",
    platform: "node", // tells `import` of Node which names there are
  });
  await copyDeclarations("dist/package");
}

/** Copies what `tsc` wrote, without what it left there for a source that is gone. */
async function copyDeclarations(folder: string): Promise<void> {
  const hasSource = (path: string) => existsSync(path.replace("dist/types", "src").replace(/\.d\.ts$/, ".ts"));
  await cp("dist/types", folder, { recursive: true, filter: hasSource });
}

function common(): BuildOptions {
  return { bundle: true, target: "es2022", sourcemap: true, logLevel: "warning" };
}
