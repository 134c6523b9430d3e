import getReleasePlan from "@changesets/get-release-plan";
import { expectNone } from "../lib/claim.ts";
import { publicPackages, root } from "../lib/workspace.ts";

/** Plans the next release from `.changeset/`: all published packages move together, and nothing else does. */
export async function releasePlan(): Promise<string> {
  const plan = await getReleasePlan(root); // reads and checks config.json and every changeset
  if (plan.changesets.length === 0) return "no changesets: nothing to release";

  const releases = plan.releases.filter(({ type }) => type !== "none");
  const names = (await publicPackages()).map(({ manifest }) => manifest.name);
  const versions = new Set(releases.map(({ newVersion }) => newVersion));
  expectNone([
    ...names.filter((name) => !releases.some((release) => release.name === name)).map((name) => `${name} stays behind`),
    ...releases.filter(({ name }) => !names.includes(name)).map(({ name }) => `${name} is not public`),
    ...(versions.size > 1 ? [`versions differ: ${[...versions].join(", ")}`] : []),
  ]);
  return `next release: ${[...versions].join()}`;
}
