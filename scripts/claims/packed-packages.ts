import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { entryPoints } from "../consumers/exports.ts";
import { expectNone } from "../lib/claim.ts";
import { linksOf } from "../lib/markdown.ts";
import { type PackedPackage, packedManifest } from "../lib/packing.ts";
import { publishedFolder } from "../lib/published-folder.ts";
import { hasCommonJs, type Manifest } from "../lib/workspace.ts";

/** Checks the tarballs that would be published. */
export async function packedPackagesAreCorrect(packages: readonly PackedPackage[]): Promise<string> {
  const problems: string[] = [];
  for (const packed of packages) {
    const found = [
      ...(await wrongFiles(packed)),
      ...(await wrongManifest(packed)),
      ...(await wrongLinks(packed)),
      ...(await foreignCode(packed)),
      ...(await wrongExports(packed)),
    ];
    problems.push(...found.map((problem) => `${packed.manifest.name}: ${problem}`));
  }
  expectNone(problems);
  return `${packages.length} packages`;
}

/** Finds files that the tarball lacks, and files that it has beside the built sources and the pages. */
export async function wrongFiles(packed: PackedPackage): Promise<string[]> {
  const { directory, manifest, files } = packed;
  const sources = (await readdir(join(directory, "src"), { recursive: true })).filter((file) => file.endsWith(".ts"));
  const isProgram = entryPoints(manifest).length === 0;
  const declarations = isProgram ? [] : sources.map((file) => file.replace(/\.ts$/, ".d.ts"));
  const code = [...declarations, ...scriptsOf(manifest, files)];
  const modules = isProgram || hasCommonJs(manifest) ? [...code, "package.json"].map((file) => `esm/${file}`) : [];
  const expected = new Set(["package.json", ...(isProgram ? [] : code), ...modules, ...pagesOf(packed)]);
  const missing = [...expected].filter((file) => !files.includes(file));
  const surplus = files.filter((file) => !expected.has(file));
  return [...missing.map((file) => `${file} is missing`), ...surplus.map((file) => `${file} does not belong here`)];
}

/** Returns one script for each entry point, and those for what several of them share. */
function scriptsOf({ exports = {}, bin = {} }: Manifest, files: readonly string[]): string[] {
  const imported = Object.keys(exports).map((path) => (path === "." ? "index" : path.slice("./".length)));
  const entries = [...imported, ...Object.values(bin).map((path) => basename(path, ".ts"))];
  const shared = new Set(files.flatMap((file) => /\b(shared-\w+)\.js$/.exec(file)?.[1] ?? []));
  const names = entries.length > 1 ? [...entries, ...shared] : entries;
  return names.map((name) => `${name}.js`);
}

/** Returns the pages of a package. The first release writes its CHANGELOG.md. */
function pagesOf({ directory, manifest: { man = [] } }: PackedPackage): string[] {
  const pages = ["LICENSE", "README.md", ...man.map((page) => basename(page))];
  return existsSync(join(directory, "CHANGELOG.md")) ? [...pages, "CHANGELOG.md"] : pages;
}

/** Finds text that has a meaning only inside this workspace, and fields that users need and do not find. */
async function wrongManifest(packed: PackedPackage): Promise<string[]> {
  const manifest = await packedManifest(packed);
  const text = JSON.stringify(manifest);
  const leaked = ["@holdfast/source", "workspace:", "./dist", "./src"].filter((part) => text.includes(part));
  const wanted = ["description", "keywords", "homepage", "repository", "bugs", "license", "engines"];
  return [
    ...leaked.map((part) => `the packed package.json contains "${part}"`),
    ...wanted.filter((field) => !(field in manifest)).map((field) => `the packed package.json has no "${field}"`),
  ];
}

/** Finds links in pages that lead neither to a heading of the page nor to an absolute address. */
async function wrongLinks({ directory, files }: PackedPackage): Promise<string[]> {
  const pages = files.filter((file) => file === "README.md" || file === "CHANGELOG.md");
  const links = pages.map(async (page) =>
    linksOf(await readFile(join(directory, publishedFolder, page), "utf8"))
      .filter(({ url }) => !/^(https:\/\/|#)/.test(url))
      .map(({ url }) => `${page} links to ${url}, which does not exist on the registry`),
  );
  return (await Promise.all(links)).flat();
}

/**
 * The modules that a script may consist of, as comments of the bundler name them: the sources of its package, the ES
 * modules that were made CommonJS, and the dependency that is bundled into these.
 */
const ownOrBundled = /^(src|dist\/package\/esm|(\.\.\/)+node_modules\/\.pnpm\/.*\/node_modules\/tinyqueue)\//;

/** Finds code of other packages: a class that is bundled into a second package would have two identities. */
async function foreignCode({ directory, files }: PackedPackage): Promise<string[]> {
  const problems: string[] = [];
  for (const script of files.filter((file) => file.endsWith(".js"))) {
    const code = await readFile(join(directory, publishedFolder, script), "utf8");
    for (const [, module = ""] of code.matchAll(/^\/\/ (\S+\.[cm]?[jt]s)$/gm)) {
      if (!ownOrBundled.test(module)) problems.push(`${script} contains code of another package: ${module}`);
    }
  }
  return problems;
}

/** Asks publint about the package, and Are the types wrong? whether its types resolve in every way. */
async function wrongExports({ tarball, manifest }: PackedPackage): Promise<string[]> {
  const data = await readFile(tarball);
  const pack = { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer };
  const { messages, pkg } = await publint({ pack, strict: true });
  const remarks = messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code);
  if (entryPoints(manifest).length === 0) return remarks; // a program has no types
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));
  if (!analysis.types) return [...remarks, "the package has no types"];
  const kinds = new Set(analysis.problems.map(({ kind }) => kind));
  // A package without a CommonJS build has the types of an ES module, also where CommonJS asks for them.
  if (!hasCommonJs(manifest)) kinds.delete("CJSResolvesToESM");
  return [...remarks, ...[...kinds].map((kind) => `types: ${kind}`)];
}
