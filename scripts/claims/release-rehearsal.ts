import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import getReleasePlan from "@changesets/get-release-plan";
import { fillChangelogs } from "../lib/changelogs.ts";
import { expectNone } from "../lib/claim.ts";
import { type PackedPackage, pack, packedManifest } from "../lib/packing.ts";
import { writeManifestAndPages } from "../lib/published-folder.ts";
import { run } from "../lib/run.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { publicPackages, readManifest, root, type WorkspacePackage, workspacePackages } from "../lib/workspace.ts";
import { wrongFiles } from "./packed-packages.ts";

/** A change, as a file in `.changeset/` describes it. */
type Changeset = Awaited<ReturnType<typeof getReleasePlan>>["changesets"][number];

/**
 * Makes the next release in a copy of the repository, and one after it that changes a single package. Checks that all
 * published packages, and no others, get one version, and that their changelogs list the changes. Then checks the
 * tarballs.
 */
export async function releaseRehearsal(): Promise<string> {
  return withTemporaryFolder(async (folder) => {
    const copy = await copyOfWorkspace(folder);
    const packages = await publicPackages(copy);
    const next = await release(copy);
    const fix = ["---", `"${packages.at(-1)?.manifest.name}": patch`, "---", "", "A fix."];
    await writeFile(join(copy, ".changeset/rehearsal.md"), fix.join("\n"));
    const later = await release(copy);
    for (const { directory } of packages) await writeManifestAndPages(directory, copy); // again, as versions differ
    await expectRightTarballs(await pack(copy, folder), later);
    return `the next versions are ${next} and ${later}`;
  });
}

/** Copies the workspace with its builds and without installed packages, and links the packages of the copy. */
async function copyOfWorkspace(folder: string): Promise<string> {
  const copy = join(folder, "holdfast");
  const left = ["node_modules", ".git", ".turbo", "reports"];
  await cp(root, copy, { recursive: true, filter: (path) => !left.includes(basename(path)) });
  const packages = await workspacePackages(copy);
  for (const { directory, manifest } of packages) {
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
      const target = packages.find((other) => other.manifest.name === name);
      if (!target) continue;
      const link = join(directory, "node_modules", name);
      await mkdir(join(link, ".."), { recursive: true });
      await symlink(target.directory, link);
    }
  }
  await nameRepository(copy);
  const git = (...args: string[]) => run("git", args, copy);
  await git("init", "--quiet");
  await git("add", "--all");
  await git("-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost", "commit", "--quiet", "--message=all");
  return copy;
}

/** Adds the address of the repository, which a release needs, if it is missing. */
async function nameRepository(copy: string): Promise<void> {
  const path = join(copy, "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify({ repository: "https://example.com/holdfast.git", ...manifest }));
}

/** Does what `pnpm release:version` does, if there are changes. Resolves with the version of all public packages. */
async function release(copy: string): Promise<string> {
  const before = await workspacePackages(copy);
  const { changesets, releases } = await getReleasePlan(copy); // validates config.json and every changeset
  const present = before.find(({ manifest }) => !manifest.private)?.manifest.version ?? "";
  const version = releases[0]?.newVersion ?? present;
  if (version === present) return present;
  await run(join(root, "node_modules/.bin/changeset"), ["version"], copy);
  await fillChangelogs(copy);
  const problems = await Promise.all(
    before.map(async (source) => {
      const now = await readManifest(source.directory);
      const expected = source.manifest.private ? source.manifest.version : version;
      if (now.version !== expected) return [`${now.name} has version ${now.version} instead of ${expected}`];
      return source.manifest.private ? [] : wrongChangelog(source, version, changesets);
    }),
  );
  expectNone(problems.flat());
  return version;
}

/**
 * Finds what is wrong with a changelog. The entry of the version must come first and list every change to its package;
 * in the first release, only its description.
 */
async function wrongChangelog(
  { directory, manifest: { name } }: WorkspacePackage,
  version: string,
  changesets: readonly Changeset[],
): Promise<string[]> {
  const changelog = await readFile(join(directory, "CHANGELOG.md"), "utf8");
  const [heading = "", latest = ""] = changelog.split(/^## /m);
  const [title, ...text] = latest.split("\n");
  const changes = changesets.filter(({ releases }) => releases.some((each) => each.name === name));
  const firsts = changes.filter(({ id }) => id.startsWith("first-release-"));
  const wanted = (firsts.length > 0 ? firsts : changes).map(({ summary }) => summary.split("\n")[0] ?? "");
  const listed = latest.match(/^- /gm)?.length ?? 0;
  return [
    ...(firsts.length > 0 && listed !== 1 ? [`has ${listed} entries for its first release`] : []),
    ...(heading.trim() === `# ${name}` && title === version ? [] : ["does not begin with the new version"]),
    ...(text.join("").trim() === "" ? ["says nothing about the new version"] : []),
    ...wanted.filter((line) => !latest.includes(line)).map((line) => `does not say: ${line}`),
  ].map((problem) => `the changelog of ${name} ${problem}`);
}

/** Checks that tarballs contain the changelog, and depend on each other in the version of their release. */
async function expectRightTarballs(packages: readonly PackedPackage[], version: string): Promise<void> {
  const problems = packages.map(async (packed) => {
    const { name, dependencies, peerDependencies, private: isPrivate } = await packedManifest(packed);
    const isOurs = ([other]: [string, unknown]): boolean => packages.some(({ manifest }) => manifest.name === other);
    const ranges = [
      ...Object.entries({ ...dependencies }).map(([other, range]) => ({ other, range, wanted: `^${version}` })),
      // A narrower range would make each release of an optional adapter a major one of the package that can use it.
      ...Object.entries({ ...peerDependencies }).map(([other, range]) => ({ other, range, wanted: ">=0.0.0 <1" })),
    ].filter(({ other, range, wanted }) => isOurs([other, range]) && range !== wanted);
    if (isPrivate) return [`${name} ${version}: could not be published`];
    return [
      ...ranges.map(({ other, range, wanted }) => `depends on ${other} ${range} instead of ${wanted}`),
      ...(await wrongFiles(packed)),
    ].map((problem) => `${name} ${version}: ${problem}`);
  });
  expectNone((await Promise.all(problems)).flat());
}
