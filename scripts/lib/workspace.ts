import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the whole workspace, and of these scripts. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));
export const scripts: string = join(root, "scripts");

/** What the scripts read in a `package.json`. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface WorkspacePackage {
  readonly directory: string;
  readonly manifest: Manifest;
}

/** Everything that `pnpm-workspace.yaml` names. */
export async function workspacePackages(): Promise<WorkspacePackage[]> {
  const directories = [...(await foldersIn("packages")), ...(await foldersIn("apps")), scripts];
  return Promise.all(directories.map(async (directory) => ({ directory, manifest: await readManifest(directory) })));
}

/** The packages that are published. */
export async function publicPackages(): Promise<WorkspacePackage[]> {
  return (await workspacePackages()).filter(({ manifest }) => !manifest.private);
}

async function foldersIn(name: string): Promise<string[]> {
  const entries = await readdir(join(root, name), { withFileTypes: true });
  const directories = entries.filter((entry) => entry.isDirectory()).map((entry) => join(root, name, entry.name));
  return directories.filter((directory) => existsSync(join(directory, "package.json")));
}

async function readManifest(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
}
