/** Outcomes as a page of Markdown. */
import { browserTable, commonJsTable, type Outcome, programsTable, typesTable } from "./trials.ts";

const explanations: Readonly<Record<string, string>> = {
  [typesTable]: `All programs are type-checked in strict projects that also check the declarations of what they import
(\`skipLibCheck: false\`), with no \`lib\` beside that of the target ES2022 and the types of
Node. Under \`nodenext\` they are both ES modules and CommonJS; under \`node10\` they are CommonJS. The last column has the
types of a browser instead, and the programs that run there.

\`conformance\` is an ES module only, like vitest. In CommonJS under \`nodenext\`, TypeScript accepts that since 5.8;
older versions refuse with error TS1479, and are not asked. TypeScript 7 has no \`node10\`. The declarations of
\`@valkey/valkey-glide\` itself have errors under \`bundler\`, which are not counted: set \`skipLibCheck\` there.`,
  [programsTable]: `Each cell is all programs about one package: the examples of its README, against real Redis servers, and a
program that compares what can be imported with what the types declare, name by name. The example of \`conformance\` is a
run of the suite by vitest, which runs in Node only and has to be imported; elsewhere it is the names alone. \`cli\` runs a program
under a lock, in Node.`,
  [commonJsTable]: `Projects without an ES module of their own: tests in plain JavaScript and in TypeScript; a program with decorators and
their metadata, compiled for \`commonjs\` with the module resolution \`node10\`; and bundles whose files import and require
the packages. The last two columns compare both builds: Node gives the same classes to \`import\` and \`require()\`, and
where a tool loads both, each recognises the errors of the other.`,
  [browserTable]: `The example of the package's README, bundled by esbuild for browsers, which fails when anything asks for a
built-in module of Node.`,
};

/** The whole page. */
export function page(outcomes: readonly Outcome[]): string {
  const tables = [typesTable, programsTable, commonJsTable, browserTable].map(
    (name) => `## ${name}\n\n${explanations[name]}\n\n${table(outcomes.filter((outcome) => outcome.table === name))}`,
  );
  return `# What the packages work with

Written by \`pnpm consumers\`, from what happened: it packs all packages, installs the tarballs with npm into an empty
project outside of this repository, and tries there what their READMEs show.

${tables.join("\n\n")}
`;
}

/** The outcomes of one table, in the order in which rows and columns first appear. */
export function table(outcomes: readonly Outcome[]): string {
  const columns = [...new Set(outcomes.map(({ column }) => column))];
  const rows = [...new Set(outcomes.map(({ row }) => row))];
  const cell = (row: string, column: string) =>
    outcomes.find((outcome) => outcome.row === row && outcome.column === column)?.cell ?? "–";
  const lines = [
    ["", ...columns],
    ["---", ...columns.map(() => "---")],
  ];
  for (const row of rows) lines.push([row, ...columns.map((column) => cell(row, column))]);
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** What failed, and where. */
export function problems(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ row, column, problem }) => (problem ? [`${row}, ${column}: ${problem}`] : []));
}
