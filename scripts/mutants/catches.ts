import { markdownTable } from "../lib/markdown.ts";
import type { Mutant } from "./mutants.ts";

/** Returns a page that shows which test files catch which mutants. */
export function pageOfCatches(catches: ReadonlyMap<Mutant, readonly string[]>, files: readonly string[]): string {
  const faults = [...catches].map(([{ rule, fault }, by]) => [rule, fault, by.length, listOf(by)]);
  const catchers = files.toSorted().map((file) => {
    const caught = [...catches.values()].filter((by) => by.includes(file));
    return { file, caught: caught.length, alone: caught.filter((by) => by.length === 1).length };
  });
  const namesOf = (those: typeof catchers): string => listOf(those.map(({ file }) => file));
  return `# Which tests catch which faults

Written by \`pnpm mutants --out docs/generated\`. It injects each fault of
[\`mutants.yml\`](../../scripts/mutants/mutants.yml), and runs all test files of core and membership that execute the
code around it, except those that take long.

${markdownTable(["rule", "fault", "files", "caught by"], faults)}
## Test files

${markdownTable(
  ["test file", "faults that it catches", "that no other file catches"],
  catchers.map(({ file, caught, alone }) => [file, caught, alone]),
)}
Others catch all faults that these files catch: ${namesOf(catchers.filter((each) => each.caught > 0 && each.alone === 0))}.

These catch none: ${namesOf(catchers.filter(({ caught }) => caught === 0))}.
`;
}

function listOf(files: readonly string[]): string {
  return files.join(", ") || "none";
}
