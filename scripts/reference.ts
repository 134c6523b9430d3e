/**
 * `pnpm reference`: writes the API reference of all published packages into `apps/site/reference`, for the site. Fails
 * if an export has no comment, or an exported function or class has no example.
 */
import { join } from "node:path";
import { referenceFolder } from "../apps/site/src/reference-symbols.ts";
import { expectNone } from "./lib/claim.ts";
import { publicPackages, root, scripts, type WorkspacePackage } from "./lib/workspace.ts";
import { type PublicModule, readReference } from "./reference/reference.ts";

const packages = inOrderOfDependencies(await publicPackages());
const reference = await readReference(packages.flatMap(modulesOf), join(scripts, "reference/typedoc.json"));
await reference.write(join(root, referenceFolder));
expectNone(reference.shortcomings());

/** A symbol that several packages export belongs to the package that the others depend on. */
function inOrderOfDependencies(packages: readonly WorkspacePackage[]): WorkspacePackage[] {
  const ordered = new Set<WorkspacePackage>();
  const add = (one: WorkspacePackage): void => {
    const { dependencies, peerDependencies } = one.manifest;
    const below = { ...dependencies, ...peerDependencies };
    for (const other of packages) if (other.manifest.name in below) add(other);
    ordered.add(one);
  };
  for (const one of packages) add(one);
  return [...ordered];
}

function modulesOf({ directory, manifest }: WorkspacePackage): PublicModule[] {
  return Object.entries(manifest.exports ?? {}).map(([entry, conditions]) => {
    const source = typeof conditions === "string" ? undefined : conditions["@holdfast/source"];
    if (source === undefined)
      throw new Error(`${manifest.name} exports ${entry} without the condition @holdfast/source`);
    return { name: join(manifest.name, entry), file: join(directory, source) };
  });
}
