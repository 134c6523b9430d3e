import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expectNone } from "../lib/claim.ts";
import { type PackedPackage, withPackedPackages } from "../lib/packing.ts";
import { run } from "../lib/run.ts";
import { scripts } from "../lib/workspace.ts";

/** Judges the tarballs that would be published. */
export async function packedPackagesAreCorrect(): Promise<void> {
  await withPackedPackages(async (packages) => {
    const problems = packages.flatMap((packed) => [wrongFiles(packed), wrongManifest(packed), wrongSourceMaps(packed)]);
    expectNone((await Promise.all(problems)).flat());
    for (const { tarball } of packages) {
      await run("publint", ["--strict", tarball], scripts);
      await run("attw", ["--profile", "esm-only", tarball], scripts);
    }
  });
}

/** The tarball holds what was built from today's sources, the usual pages, and nothing else. */
async function wrongFiles({ manifest, directory, unpacked }: PackedPackage): Promise<string[]> {
  const sources = (await filesIn(join(directory, "src"))).map((file) => file.replace(/\.ts$/, ""));
  const expected = ["LICENSE", "README.md", "package.json"];
  for (const source of sources) expected.push(`dist/${source}.js`, `dist/${source}.js.map`, `dist/${source}.d.ts`);
  const actual = (await filesIn(unpacked)).filter((file) => file !== "CHANGELOG.md"); // comes with the first release
  const missing = expected.filter((file) => !actual.includes(file));
  const surplus = actual.filter((file) => !expected.includes(file));
  return [
    ...missing.map((file) => `${manifest.name}: ${file} is missing`),
    ...surplus.map((file) => `${manifest.name}: ${file} does not belong here ("pnpm clean" if an old build left it)`),
  ];
}

/** What only makes sense inside this workspace must not leak out of it. */
async function wrongManifest({ manifest, unpacked }: PackedPackage): Promise<string[]> {
  const packed = await readFile(join(unpacked, "package.json"), "utf8");
  return ["@holdfast/source", "workspace:"]
    .filter((text) => packed.includes(text))
    .map((text) => `${manifest.name}: the packed package.json still says "${text}"`);
}

/** Sources are not packed, so their maps carry them along. */
async function wrongSourceMaps({ manifest, unpacked }: PackedPackage): Promise<string[]> {
  const maps = (await filesIn(unpacked)).filter((file) => file.endsWith(".map"));
  const problems: string[] = [];
  for (const map of maps) {
    const { sourcesContent } = JSON.parse(await readFile(join(unpacked, map), "utf8"));
    if (!sourcesContent?.[0]) problems.push(`${manifest.name}: ${map} lacks its source`);
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
