import type { Mistake } from "../src/index.ts";
import { table } from "../src/report.ts";

const heading = `# Mistakes that the suite catches

Each is made in a right node, and must make the test beside it fail, which the right node passes. This page is written by
that test: do not edit it.`;

/** A Markdown page: which test catches which mistake. */
export function mistakeTable(mistakes: readonly Pick<Mistake, "mistake" | "caughtBy">[], title = heading): string {
  const rows = mistakes.map(({ mistake, caughtBy }) => [`A node that ${mistake}`, caughtBy]);
  return `${title}\n\n${table(["mistake", "caught by"], rows)}\n`;
}
