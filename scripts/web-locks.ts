/**
 * `pnpm web-locks`: tries `@holdfast/web-locks` in every supported runtime, beside the lock manager of that runtime, and
 * writes docs/generated/web-locks.md. The first run downloads the runtimes.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clauses } from "../packages/web-locks/test/clauses.ts";
import type { Report, Trials } from "../packages/web-locks/test/trials.ts";
import { bundle, runInChromium } from "./consumers/browsers.ts";
import { chromium, otherRuntimes } from "./consumers/runtimes.ts";
import { markdownTable } from "./lib/markdown.ts";
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

function page(columns: readonly Column[], runtimes: readonly string[]): string {
  const notKept = clauses.flatMap(({ fact, notKept }) =>
    notKept === undefined ? [] : `- ${fact}.\n  Instead, ${notKept}.\n`,
  );
  const rows = clauses.map(({ section, fact }) => {
    const cells = columns.map(({ trials }) => (fact in trials.failures ? "✗" : "✓"));
    return [fact.replaceAll("|", "\\|"), `[${section}](${specification}#${anchorOf(section)})`, ...cells];
  });
  const programs = columns.map(({ trials }) => `${trials.programs - trials.differing.length} of ${trials.programs}`);
  const table = markdownTable(
    ["test", "section", ...columns.map(({ title }) => title)],
    [...rows, ["random programs that do what the algorithms say", "", ...programs]],
  );
  return `# The clauses of the Web Locks API, and their tests

Written by \`pnpm web-locks\`. Each row is a sentence of the [specification](${specification}) that a
program can observe, and at the same time the name of its test in
[\`specification.test.ts\`](../../packages/web-locks/test/specification.test.ts). The same trials run over
\`@holdfast/web-locks\` with three memory nodes in every supported runtime, and over the lock managers that come with some
of them. ✗ marks where one differs from the specification.

A trial waits for no state: it calls \`query()\` once, often in the turn of a request, and the reply must be the state to
which the requests made before it have led.

Tried in ${runtimes.join(", ")}.

The last row counts random programs of up to forty steps: requests of all kinds, often several at once, in turn with the
ends of callbacks. After each step, the results, and what \`query()\` lists, must be what [the algorithms of the
specification](../../packages/web-locks/test/script.ts) give. Programs with signals, too, run [in the tests of the
package](../../packages/web-locks/test/differential.test.ts).

${table}
## Clauses that are not kept

${notKept.join("")}
[Beyond the standard](../../packages/web-locks/README.md#beyond-the-standard) lists what servers add to it: locks can be
lost, for example, and \`query()\` knows little of other managers.
`;
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
const written = page(
  [ours, ...natives],
  reports.map(([name]) => name),
);
await writeFile(join(root, "docs/generated/web-locks.md"), written);
console.log(written);
for (const [name, report] of reports) console.log(name, JSON.stringify(report, undefined, 2));
console.log(`${reports.length - broken.length} passed, ${broken.length} failed`);
if (broken.length > 0) process.exitCode = 1;
