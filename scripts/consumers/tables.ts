/** Outcomes as a page of Markdown. */
import { browserTable, type Outcome, programsTable, typesTable } from "./trials.ts";

const explanations: Readonly<Record<string, string>> = {
  [typesTable]: `All programs are type-checked in strict projects that also check the declarations of what they import
(\`skipLibCheck: false\`), with no \`lib\` beside that of the target ES2022 and the types of
Node. Under \`nodenext\` they are both ES modules and CommonJS. The last column has the types of a browser instead, and the
programs that run there.

TypeScript lets CommonJS import ES modules since 5.8. An older one refuses that of every package under \`nodenext\`, with
error TS1479; use \`await import()\` there, or \`bundler\`. The declarations of \`@valkey/valkey-glide\` itself have errors
under \`bundler\`, which are not counted: set \`skipLibCheck\` there.`,
  [programsTable]: `Each cell is all programs about one package: the examples of its README, against real Redis servers, and a
program that compares what can be imported with what the types declare, name by name. The example of \`conformance\` is a
run of the suite by vitest, which runs in Node only and has to be imported; elsewhere it is the names alone. \`cli\` runs a program
under a lock, in Node.`,
  [browserTable]: `The example of the package's README, bundled by esbuild for browsers, which fails when anything asks for a
built-in module of Node.`,
};

/** The whole page. */
export function page(outcomes: readonly Outcome[]): string {
  const tables = [typesTable, programsTable, browserTable].map(
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
