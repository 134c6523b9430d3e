import { expectNone } from "../lib/claim.ts";
import { type Manifest, publicPackages } from "../lib/workspace.ts";

const foundations = ["@holdfast/memory", "@holdfast/redis", "@holdfast/conformance", "@holdfast/opentelemetry"];
const partsOfCli = ["@holdfast/memory", "@holdfast/redis", "@holdfast/ioredis"];

/** App → adapter → redis → core: a published package depends only on packages below it. */
export async function arrowsPointDown(): Promise<void> {
  const packages = await publicPackages();
  expectNone(packages.flatMap(({ manifest }) => upwardArrows(manifest)));
}

/** The dependencies that users would install and that a package may not have. */
export function upwardArrows(manifest: Manifest): string[] {
  const { name, dependencies, peerDependencies, optionalDependencies } = manifest;
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })
    .filter((dependency) => !mayDependOn(name, dependency))
    .map((dependency) => `${name} may not depend on ${dependency}`);
}

function mayDependOn(name: string, dependency: string): boolean {
  if (name === "@holdfast/core") return false;
  if (!dependency.startsWith("@holdfast/")) return true;
  if (dependency === "@holdfast/core") return true;
  if (name === "@holdfast/cli") return partsOfCli.includes(dependency);
  if (name === "@holdfast/simulation") return dependency === "@holdfast/memory";
  return dependency === "@holdfast/redis" && !foundations.includes(name);
}
