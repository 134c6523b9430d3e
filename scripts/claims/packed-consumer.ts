import { compilers, nodeSetting, settings } from "../consumers/compilers.ts";
import { withConsumerProject } from "../consumers/project.ts";
import { thisNode } from "../consumers/runtimes.ts";
import { problems } from "../consumers/tables.ts";
import { tryAll } from "../consumers/trials.ts";
import { expectNone } from "../lib/claim.ts";

/**
 * Tries the packed packages with the oldest and the newest TypeScript in every setting, with those between as in Node,
 * with this Node, and as a bundle for browsers. `pnpm consumers` tries everything.
 */
export async function packedPackagesWork(): Promise<string> {
  const versions = await compilers();
  const typeChecks = versions.flatMap((compiler) => {
    const isBetween = compiler !== versions[0] && compiler !== versions.at(-1);
    return (isBetween ? [nodeSetting] : settings).map((setting) => ({ compiler, setting }));
  });
  const outcomes = await withConsumerProject((project) => tryAll(project, { typeChecks, runtimes: [thisNode] }));
  expectNone(problems(outcomes));
  const names = versions.map(({ version }) => version).join(", ");
  return `${outcomes.length} trials with TypeScript ${names}, ${thisNode.name}, and a browser's globals`;
}
