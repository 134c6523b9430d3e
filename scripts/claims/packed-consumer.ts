import { compilers } from "../consumers/compilers.ts";
import { withConsumerProject } from "../consumers/project.ts";
import { thisNode } from "../consumers/runtimes.ts";
import { problems } from "../consumers/tables.ts";
import { tryAll } from "../consumers/trials.ts";
import { expectNone } from "../lib/claim.ts";

/** Tries the packed packages with every TypeScript, this Node, and a bundle for browsers. `pnpm consumers` does more. */
export async function packedPackagesWork(): Promise<string> {
  const selection = { compilers: await compilers(), runtimes: [thisNode] };
  const outcomes = await withConsumerProject((project) => tryAll(project, selection));
  expectNone(problems(outcomes));
  const versions = selection.compilers.map(({ version }) => version).join(", ");
  return `${outcomes.length} trials with TypeScript ${versions}, ${thisNode.name}, and a browser's globals`;
}
