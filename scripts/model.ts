/**
 * `pnpm model`: proves the fencing protocol with the model checker spin, and shows that spin finds the fault in each
 * wrong variant. See `spec/README.md`.
 *
 * `--long` also proves variants with more clients and without forgetting any of them. `spec/README.md` says how long.
 */
import { availableParallelism } from "node:os";
import pLimit from "p-limit";
import { ensureOrExit } from "./lib/programs.ts";
import type { Run } from "./model/output.ts";
import { problemsOf, type Report, table, told } from "./model/report.ts";
import { example, longProofs, proofs, type Search, variants } from "./model/searches.ts";
import { findRun, search } from "./model/spin.ts";

const unknown = process.argv.slice(2).filter((word) => word !== "--long");
if (unknown.length > 0) {
  console.error(`Usage: pnpm model [--long]\n\nmodel: there is no option ${unknown.join(", ")}`);
  process.exit(2);
}
const isLong = process.argv.includes("--long");
const inParallel = Math.min(2, availableParallelism()); // each needs gigabytes of memory

await ensureOrExit("spin");
const limit = pLimit(inParallel);
const searches = [...proofs, ...variants, ...(isLong ? longProofs : [])];
const checks = searches.map((each) => limit(check, each));
const run = await limit(findRun, example);
show({ title: example.title, run, problems: run ? [] : ["found no run: the model does nothing"] });

const reports: Report[] = [];
for (const checked of checks) {
  const report = await checked;
  show({ title: report.search.title, ...report });
  reports.push(report);
}
const failed = reports.filter(({ problems }) => problems.length > 0).length + (run ? 0 : 1);
console.log(`\n${table(reports)}\n${reports.length + 1 - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

async function check(each: Search): Promise<Report> {
  const result = await search(each);
  const run = result.errors > 0 && each.model === undefined ? await findRun(each) : undefined;
  return { search: each, result, run, problems: problemsOf(each, result, run) };
}

function show({ title, run, problems }: { title: string; run?: Run | undefined; problems: readonly string[] }): void {
  const heading = `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
  if (run) console.log(`\n${heading}\n\n${told(run)}`);
  else if (problems.length === 0) console.log(`\n${heading}: the property holds in every state`);
  for (const problem of problems) console.log(`\n${heading}\nFAILED: ${problem}`);
}
