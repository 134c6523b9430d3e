import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";
import { publicPackages, type WorkspacePackage } from "./workspace.ts";

/** A public package as it would be published. */
export interface PackedPackage extends WorkspacePackage {
  readonly tarball: string;
  /** Where the tarball is unpacked: `node_modules/NAME` in the consumer's folder. */
  readonly unpacked: string;
}

/**
 * Packs all public packages, which must have been built, and unpacks them into the `node_modules` of a temporary
 * folder: what a consumer has after installing them. The folder is gone when `use` has settled.
 */
export async function withPackedPackages<T>(
  use: (packages: readonly PackedPackage[], consumer: string) => Promise<T>,
): Promise<T> {
  const consumer = await mkdtemp(join(tmpdir(), "holdfast-consumer-"));
  try {
    const packages = await publicPackages();
    return await use(await Promise.all(packages.map((source) => pack(source, consumer))), consumer);
  } finally {
    await rm(consumer, { recursive: true });
  }
}

async function pack(source: WorkspacePackage, consumer: string): Promise<PackedPackage> {
  const output = await run("pnpm", ["pack", "--json", "--pack-destination", consumer], source.directory);
  const tarball: string = JSON.parse(output).filename;
  const unpacked = join(consumer, "node_modules", source.manifest.name);
  await mkdir(unpacked, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"], consumer);
  return { ...source, tarball, unpacked };
}
