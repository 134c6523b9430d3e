import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folders of the workspace and of these scripts. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));
export const scripts: string = join(root, "scripts");

/** The fields of a `package.json` that the scripts read. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly man?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface WorkspacePackage {
  readonly directory: string;
  readonly manifest: Manifest;
}

/** Returns whether a package has a CommonJS build. */
export function hasCommonJs({ exports = {} }: Manifest): boolean {
  return Object.values(exports).some((entry) => typeof entry === "object" && "require" in entry);
}

/** Returns the packages that `pnpm-workspace.yaml` names, in this workspace or a copy of it. */
export async function workspacePackages(workspace: string = root): Promise<WorkspacePackage[]> {
  const folders = await Promise.all(["packages", "apps"].map((name) => foldersIn(join(workspace, name))));
  const directories = [...folders.flat(), join(workspace, "scripts")];
  return Promise.all(directories.map(async (directory) => ({ directory, manifest: await readManifest(directory) })));
}

/** Returns the packages that are published. */
export async function publicPackages(workspace: string = root): Promise<WorkspacePackage[]> {
  return (await workspacePackages(workspace)).filter(({ manifest }) => !manifest.private);
}

async function foldersIn(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true });
  const directories = entries.filter((entry) => entry.isDirectory()).map((entry) => join(parent, entry.name));
  return directories.filter((directory) => existsSync(join(directory, "package.json")));
}

/** Reads the `package.json` of a folder. */
export async function readManifest(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
}
