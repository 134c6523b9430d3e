/** Outcomes as the page docs/generated/consumers.md. */
import { markdownTable } from "../lib/markdown.ts";
import type { Outcome, Table } from "./trials.ts";

const explanations: Readonly<Record<Table, string>> = {
  Types: `All programs are type-checked in strict projects that also check the declarations of what they import
(\`skipLibCheck: false\`), with no \`lib\` beside that of the target ES2022 and the types of Node. Under
\`nodenext\` they are both ES modules and CommonJS; under \`node10\` they are CommonJS. The last column checks the
programs that run in a browser, with the types of a browser.

\`conformance\` is an ES module only, like vitest. In CommonJS under \`nodenext\`, TypeScript accepts that since 5.8;
older versions report TS1479, and do not check it here. TypeScript 7 has no \`node10\`. The declarations of
\`@valkey/valkey-glide\` itself have errors under \`bundler\`, which are not counted: set \`skipLibCheck\` there.`,
  Programs: `Each cell is all programs about one package: the examples of its README, with real Redis servers, and a
program that compares what can be imported with what the types declare, name by name. The example of \`conformance\` is
a run of the suite by vitest, which has to be imported and runs in Node only; elsewhere the cell is the comparison alone.
\`cli\` runs a program under a lock, in Node.`,
  "CommonJS projects": `Projects without ES modules: tests in plain JavaScript and in TypeScript; a NestJS
application, compiled for \`commonjs\` with the module resolution \`node10\`; and bundles whose files import and require
the packages. Two columns compare both builds: Node gives the same classes to \`import\` and
\`require()\`, and where a tool loads both builds, each recognises the errors of the other.`,
  Browsers: `The example of the package's README, bundled by esbuild for browsers. Bundling fails if anything imports a
built-in module of Node.`,
};

/** Returns the whole page. */
export function page(outcomes: readonly Outcome[]): string {
  const sections = Object.entries(explanations).map(
    ([name, text]) => `## ${name}\n\n${text}\n\n${tableOf(outcomes.filter(({ table }) => table === name))}`,
  );
  return `# What the packages work with

Written by \`pnpm consumers\` from the results of its trials. It packs all packages, installs the tarballs with npm into
an empty project outside this repository, and tries there what their READMEs show.

${sections.join("\n")}`;
}

/** Returns the outcomes as one table, with rows and columns in the order in which they first appear. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const columns = [...new Set(outcomes.map(({ column }) => column))];
  const rows = [...new Set(outcomes.map(({ row }) => row))];
  const cell = (row: string, column: string) => {
    const outcome = outcomes.find((each) => each.row === row && each.column === column);
    if (outcome === undefined) return "–";
    return outcome.problem === undefined ? "✓" : "✗";
  };
  const lines = rows.map((row) => [row, ...columns.map((column) => cell(row, column))]);
  return markdownTable(["", ...columns], lines);
}

/** Returns which trials failed, and why. */
export function problems(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ row, column, problem }) => (problem ? [`${row}, ${column}: ${problem}`] : []));
}
