import type { BrokenNode } from "../src/index.ts";
import { table } from "../src/report.ts";

const heading = `# Broken nodes that the suite catches

Each one is a correct node with one fault. The test beside it passes for the correct node and must fail for the broken
one. \`broken-nodes.test.ts\` generates this page: do not edit it by hand.`;

/** Returns a Markdown page that lists broken nodes, each with the test that catches it. */
export function brokenNodeTable(
  brokenNodes: readonly Pick<BrokenNode, "fault" | "caughtBy">[],
  title: string = heading,
): string {
  const rows = brokenNodes.map(({ fault, caughtBy }) => [`A node that ${fault}`, caughtBy]);
  return `${title}\n\n${table(["broken node", "caught by"], rows)}\n`;
}
