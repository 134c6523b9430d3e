import { run } from "./run.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";
import { type Manifest, publicPackages, root, type WorkspacePackage } from "./workspace.ts";

/** A package as it would be published. */
export interface PackedPackage extends WorkspacePackage {
  readonly tarball: string;
  /** The paths of the files in the tarball. */
  readonly files: readonly string[];
}

/** Packs the public packages of a workspace, which must have been built, into a folder. */
export async function pack(workspace: string, folder: string): Promise<PackedPackage[]> {
  const packages = await publicPackages(workspace);
  const filters = packages.map(({ manifest }) => `--filter=${manifest.name}`);
  const output = await run("pnpm", [...filters, "pack", "--json", "--pack-destination", folder], workspace);
  const packed: { name: string; filename: string }[] = JSON.parse(output);
  return Promise.all(
    packages.map(async (source) => {
      const tarball = packed.find(({ name }) => name === source.manifest.name)?.filename;
      if (tarball === undefined) throw new Error(`pnpm did not pack ${source.manifest.name}`);
      const listing = await run("tar", ["-tzf", tarball], folder); // unlike that of pnpm, includes LICENSE
      const files = listing.trim().split("\n");
      return { ...source, tarball, files: files.map((file) => file.replace("package/", "")) };
    }),
  );
}

/** Packs the public packages of this workspace, and removes the tarballs when `use` settles. */
export async function withPackedPackages<T>(use: (packages: readonly PackedPackage[]) => Promise<T>): Promise<T> {
  return withTemporaryFolder(async (folder) => use(await pack(root, folder)));
}

/** Returns the `package.json` in the tarball of a package. */
export async function packedManifest({ tarball }: PackedPackage): Promise<Manifest> {
  return JSON.parse(await run("tar", ["-xzOf", tarball, "package/package.json"], "/"));
}
