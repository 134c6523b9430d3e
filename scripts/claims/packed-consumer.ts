import { compilers, settingsOf } from "../consumers/compilers.ts";
import { withConsumerProject } from "../consumers/project.ts";
import { thisNode } from "../consumers/runtimes.ts";
import { problems } from "../consumers/tables.ts";
import { tryAll } from "../consumers/trials.ts";
import { expectNone } from "../lib/claim.ts";

/**
 * Tries the packed packages with the oldest and the newest TypeScript, with this Node, in CommonJS projects, and as a
 * bundle for browsers. `pnpm consumers` tries everything that they are for.
 */
export async function packedPackagesWork(): Promise<string> {
  const versions = await compilers();
  const extremes = versions.filter((compiler) => compiler === versions[0] || compiler === versions.at(-1));
  const typeChecks = extremes.flatMap((compiler) => settingsOf(compiler).map((setting) => ({ compiler, setting })));
  const outcomes = await withConsumerProject((project) => tryAll(project, { typeChecks, runtimes: [thisNode] }));
  expectNone(problems(outcomes));
  const names = extremes.map(({ version }) => version).join(" and ");
  return `${outcomes.length} trials with TypeScript ${names}, ${thisNode.name}, and a browser's globals`;
}
