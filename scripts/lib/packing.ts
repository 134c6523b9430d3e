import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run.ts";
import type { WorkspacePackage } from "./workspace.ts";

/** A package as it would be published. */
export interface PackedPackage extends WorkspacePackage {
  readonly tarball: string;
}

/** Packs packages, which must have been built, into a folder. */
export async function pack(packages: readonly WorkspacePackage[], folder: string): Promise<PackedPackage[]> {
  return Promise.all(
    packages.map(async (source) => {
      const output = await run("pnpm", ["pack", "--json", "--pack-destination", folder], source.directory);
      const { filename }: { filename: string } = JSON.parse(output);
      return { ...source, tarball: filename };
    }),
  );
}

/** Unpacks what was packed beside its tarball, and answers with the folder. */
export async function unpack({ tarball }: PackedPackage): Promise<string> {
  const folder = tarball.replace(/\.tgz$/, "");
  await mkdir(folder);
  await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"], join(folder, ".."));
  return folder;
}
