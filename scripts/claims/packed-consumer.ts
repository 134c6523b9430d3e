import { problems } from "../consumers/page.ts";
import { withConsumerProject } from "../consumers/project.ts";
import { thisNode } from "../consumers/runtimes.ts";
import { tryAll } from "../consumers/trials.ts";
import { compilers } from "../consumers/types.ts";
import { expectNone } from "../lib/claim.ts";

/**
 * Tries the packed packages with the oldest and the newest TypeScript, with this Node, in CommonJS projects, and as a
 * bundle for browsers. `pnpm consumers` tries everything that is supported.
 */
export async function packedPackagesWork(): Promise<string> {
  const extremes = (await compilers()).filter((_, index, all) => index === 0 || index === all.length - 1);
  const selection = { compilers: extremes, runtimes: [thisNode] };
  const outcomes = await withConsumerProject((project) => tryAll(project, selection));
  expectNone(problems(outcomes));
  const versions = extremes.map(({ version }) => version).join(" and ");
  return `${outcomes.length} trials with TypeScript ${versions}, ${thisNode.name}, and the globals of a browser`;
}
