/**
 * `pnpm build`, after `tsc` has written the declarations of a package: bundles the JavaScript of the package in this
 * folder, one module for each of its entries, whether they are imported or run.
 * docs/decisions/015-one-module-for-each-entry.md tells why.
 */
import { readFile } from "node:fs/promises";
import { build } from "esbuild";

interface Entry {
  readonly "@holdfast/source": string;
}

interface Manifest {
  readonly exports: Readonly<Record<string, Entry>>;
  readonly bin?: Readonly<Record<string, string>>;
}

const { exports, bin = {} }: Manifest = JSON.parse(await readFile("package.json", "utf8"));
const imported = Object.values(exports).map((entry) => entry["@holdfast/source"]);

await build({
  entryPoints: [...imported, ...Object.values(bin)],
  outdir: "dist",
  bundle: true,
  packages: "external", // a class has one identity only if its package is never copied into another
  splitting: true, // and if what two entries have in common is there once
  chunkNames: "shared",
  format: "esm",
  platform: "neutral",
  target: "es2022",
  sourcemap: true,
  logLevel: "warning",
});
