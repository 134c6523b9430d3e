import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { names } from "../names.ts";
import type { ChaosOptions } from "../options.ts";
import type { Result } from "../run.ts";
import { markdownOf, pictured, pictureOf } from "./markdown.ts";
import { timelineOf } from "./timeline.ts";

/** Writes the report of a run, with its pictures, and resolves with its path. */
export async function writeReport(
  directory: string,
  options: ChaosOptions,
  results: readonly Result[],
): Promise<string> {
  const lanes = { clients: names("c", options.clients), nodes: names("n", options.nodes) };
  for (const nemesis of pictured(options.nemeses)) {
    const path = join(directory, pictureOf(nemesis));
    await mkdir(dirname(path), { recursive: true });
    const attacks = results.filter(({ slice }) => slice.nemesis === nemesis);
    await writeFile(path, timelineOf(mostTelling(attacks), lanes));
  }
  const path = join(directory, "README.md");
  await mkdir(directory, { recursive: true });
  await writeFile(path, markdownOf(options, results));
  return path;
}

/** The attack that did the most harm; of those, the first. */
function mostTelling(results: readonly Result[]): Result {
  const harm = ({ findings }: Result): number =>
    1_000 * findings.violations.length + 10 * findings.overlaps.length + findings.lostPlain;
  return results.reduce((worst, result) => (harm(result) > harm(worst) ? result : worst));
}
