/**
 * `pnpm web-locks`: tries `@holdfast/web-locks` in every supported runtime, beside the lock manager of that runtime, and
 * writes docs/generated/web-locks.md. The first run downloads the runtimes.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clauses } from "../packages/web-locks/test/clauses.ts";
import type { Report, Trials } from "../packages/web-locks/test/trials.ts";
import { bundle, runInChromium } from "./consumers/browsers.ts";
import { chromium, otherRuntimes } from "./consumers/runtimes.ts";
import { markdownTable, replaceTables } from "./lib/markdown.ts";
import { run } from "./lib/run.ts";
import { withTemporaryFolder } from "./lib/temporary-folder.ts";
import { root } from "./lib/workspace.ts";

const folder = join(root, "packages/web-locks");
const specification = "https://w3c.github.io/web-locks/";

interface Column {
  readonly title: string;
  readonly trials: Trials;
}

/** Runs the trials in all runtimes, one after the other, as they measure with timeouts. */
async function runEverywhere(script: string): Promise<[name: string, report: Report][]> {
  return withTemporaryFolder(async (directory) => {
    const file = join(directory, "trials.cjs");
    await writeFile(file, script);
    const reports: [string, Report][] = [];
    for (const { name, binary, args } of await otherRuntimes()) {
      reports.push([name, JSON.parse(await run(binary, [...args, file], directory))]);
    }
    const browser = await chromium();
    reports.push([browser.name, JSON.parse(await runInChromium(browser, script))]);
    return reports;
  });
}

/** Returns the tables of the page: the trials, and the clauses that are not kept. */
function tablesOf(columns: readonly Column[]): string[] {
  const rows = clauses.map(({ section, fact }) => {
    const cells = columns.map(({ trials }) => (fact in trials.failures ? "✗" : "✓"));
    return [fact.replaceAll("|", "\\|"), `[${section}](${specification}#${anchorOf(section)})`, ...cells];
  });
  const programs = columns.map(({ trials }) => `${trials.programs - trials.differing.length} of ${trials.programs}`);
  const random = ["random programs that do what the algorithms say", "", ...programs];
  return [
    markdownTable(["test", "section", ...columns.map(({ title }) => title)], [...rows, random]),
    markdownTable(
      ["clause", "instead"],
      clauses.flatMap(({ fact, notKept }) => (notKept === undefined ? [] : [[fact, notKept]])),
    ),
  ];
}

function anchorOf(section: string): string {
  return section === "grantable" ? "lock-request-grantable" : section;
}

const reports = await runEverywhere(await bundle(folder, "test/trials.ts", ["@holdfast/source"]));
const notKept = clauses.filter((clause) => clause.notKept !== undefined).map(({ fact }) => fact);
/** Whether ours fails in other trials than those of the clauses that it does not keep. */
const isBroken = ({ failures, differing }: Trials): boolean =>
  differing.length > 0 || Object.keys(failures).join() !== notKept.join();
const broken = reports.filter(([, { ours }]) => isBroken(ours));
const natives = reports.flatMap(([title, { native }]) => (native ? [{ title, trials: native }] : []));
const [[, first] = []] = broken.length > 0 ? broken : reports;
const ours = { title: "ours", trials: (first as Report).ours };
const page = join(root, "docs/generated/web-locks.md");
const tried = `Tried in ${reports.map(([name]) => name).join(", ")}.`;
const written = replaceTables(await readFile(page, "utf8"), tablesOf([ours, ...natives])).replace(
  /^Tried in .*$/m,
  tried,
);
await writeFile(page, written);
console.log(written);
for (const [name, report] of reports) console.log(name, JSON.stringify(report, undefined, 2));
console.log(`${reports.length - broken.length} passed, ${broken.length} failed`);
if (broken.length > 0) process.exitCode = 1;
