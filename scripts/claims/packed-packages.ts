import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { entryPoints } from "../consumers/exports.ts";
import { expectNone } from "../lib/claim.ts";
import { linksOf } from "../lib/markdown.ts";
import { type PackedPackage, pack, unpack } from "../lib/packing.ts";
import { publishedFolder } from "../lib/published-folder.ts";
import { run } from "../lib/run.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { hasCommonJs, type Manifest, publicPackages, scripts } from "../lib/workspace.ts";

/** Judges the tarballs that would be published. */
export async function packedPackagesAreCorrect(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const packages = await pack(await publicPackages(), folder);
    expectNone((await Promise.all(packages.map((packed) => wrongContents(packed)))).flat());
    for (const { tarball, manifest } of packages) {
      await run("publint", ["--strict", tarball], scripts);
      if (entryPoints(manifest).length === 0) continue; // a program has no types
      await run("attw", [tarball, ...(hasCommonJs(manifest) ? [] : esmOnly)], scripts);
    }
  });
}

/** Types resolve in every way, and are those of an ES module also where CommonJS asks for them. */
const esmOnly = ["--ignore-rules", "cjs-resolves-to-esm"];

/** What a tarball lacks, and what does not belong into it. */
async function wrongContents(packed: PackedPackage): Promise<string[]> {
  const unpacked = await unpack(packed);
  const problems = [
    wrongFiles(packed, unpacked, pagesOf(packed)),
    wrongManifest(unpacked),
    wrongLinks(unpacked),
    wrongSourceMaps(packed, unpacked),
  ];
  return (await Promise.all(problems)).flat().map((problem) => `${packed.manifest.name}: ${problem}`);
}

/** A tarball holds what was built from today's sources, these pages, and nothing else. */
export async function wrongFiles(
  { directory, manifest }: PackedPackage,
  unpacked: string,
  pages: readonly string[],
): Promise<string[]> {
  const sources = (await filesIn(join(directory, "src"))).filter((file) => file.endsWith(".ts"));
  const declarations = sources.map((file) => file.replace(/\.ts$/, ".d.ts"));
  const code = [...declarations, ...scriptsOf(manifest)];
  const isProgram = entryPoints(manifest).length === 0;
  const atTop = isProgram ? [] : code;
  const modules = isProgram || hasCommonJs(manifest) ? [...code, "package.json"].map((file) => `esm/${file}`) : [];
  const expected = new Set(["package.json", ...atTop, ...modules, ...pages]);
  const actual = new Set(await filesIn(unpacked));
  const missing = [...expected].filter((file) => !actual.has(file));
  const surplus = [...actual].filter((file) => !expected.has(file));
  return [...missing.map((file) => `${file} is missing`), ...surplus.map((file) => `${file} does not belong here`)];
}

/** One script for each entry, one for what several of them have in common, and their maps. */
function scriptsOf({ exports = {}, bin = {} }: Manifest): string[] {
  const imported = Object.keys(exports).map((path) => (path === "." ? "index" : path.slice("./".length)));
  const entries = [...imported, ...Object.values(bin).map((path) => basename(path, ".ts"))];
  const names = entries.length > 1 ? [...entries, "shared"] : entries;
  return names.flatMap((name) => [`${name}.js`, `${name}.js.map`]);
}

/** CHANGELOG.md is written by the first release; until then there is none. */
function pagesOf({ directory }: PackedPackage): string[] {
  const pages = ["LICENSE", "README.md"];
  return existsSync(join(directory, "CHANGELOG.md")) ? [...pages, "CHANGELOG.md"] : pages;
}

/** What only makes sense inside this workspace must not leak out of it, and what users look for must be there. */
async function wrongManifest(unpacked: string): Promise<string[]> {
  const packed = JSON.parse(await readFile(join(unpacked, "package.json"), "utf8"));
  const leaked = ["@holdfast/source", "workspace:", "./dist", "./src"].filter((text) =>
    JSON.stringify(packed).includes(text),
  );
  const wanted = ["description", "keywords", "homepage", "repository", "bugs", "license", "engines"];
  return [
    ...leaked.map((text) => `the packed package.json says "${text}"`),
    ...wanted.filter((field) => !packed[field]).map((field) => `the packed package.json has no "${field}"`),
  ];
}

/** A page on the registry cannot show what is neither on it, nor at an address of its own. */
async function wrongLinks(unpacked: string): Promise<string[]> {
  const pages = (await filesIn(unpacked)).filter((file) => file.endsWith(".md"));
  const links = pages.map(async (page) =>
    linksOf(await readFile(join(unpacked, page), "utf8"))
      .filter(({ url }) => !/^(https:\/\/|#)/.test(url))
      .map(({ url }) => `${page} links to ${url}, which cannot be followed from there`),
  );
  return (await Promise.all(links)).flat();
}

/** The sources of a package, and what is bundled into its CommonJS build. */
const ownOrBundled = /^(\.\.\/)+(src|node_modules\/\.pnpm\/.*\/node_modules\/tinyqueue)\//;

/**
 * Each script leads to its map, and each map to today's sources, which it carries along: sources are not packed. They are
 * the package's own: a class that was bundled into a second package would have two identities.
 */
async function wrongSourceMaps({ directory }: PackedPackage, unpacked: string): Promise<string[]> {
  const problems: string[] = [];
  for (const script of (await filesIn(unpacked)).filter((file) => file.endsWith(".js"))) {
    const code = await readFile(join(unpacked, script), "utf8");
    const [, name = "none"] = /^\/\/# sourceMappingURL=(.+)$/m.exec(code) ?? [];
    const folder = join(script, "..");
    const map = await readFile(join(unpacked, folder, name), "utf8").then(JSON.parse, () => undefined);
    if (!map) problems.push(`${script} names a source map that is not there: ${name}`);
    for (const [index, source] of (map?.sources ?? []).entries()) {
      if (!ownOrBundled.test(source)) problems.push(`${script} holds code of another package: ${source}`);
      const today = await readFile(join(directory, publishedFolder, folder, source), "utf8").catch(() => undefined);
      if (map.sourcesContent?.[index] !== today) problems.push(`${script}.map does not carry ${source} as it is`);
    }
  }
  return problems;
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}
