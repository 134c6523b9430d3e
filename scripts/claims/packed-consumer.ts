import { problems } from "../consumers/page.ts";
import { withConsumerProject } from "../consumers/project.ts";
import { chromium, thisNode } from "../consumers/runtimes.ts";
import { tryAll } from "../consumers/trials.ts";
import { compilers } from "../consumers/types.ts";
import { expectNone } from "../lib/claim.ts";
import type { PackedPackage } from "../lib/packing.ts";

/**
 * Tries the packed packages with the newest TypeScript, with this Node, and in Chromium. `pnpm consumers`
 * tries everything that is supported.
 */
export async function packedPackagesWork(packages: readonly PackedPackage[]): Promise<string> {
  const newest = (await compilers()).slice(-1);
  const selection = { compilers: newest, runtimes: [thisNode], chromium: await chromium(), programsOnly: true };
  const outcomes = await withConsumerProject(packages, (project) => tryAll(project, selection));
  expectNone(problems(outcomes));
  return `${outcomes.length} trials with TypeScript ${newest[0]?.version}, ${thisNode.name} and ${selection.chromium.name}`;
}
