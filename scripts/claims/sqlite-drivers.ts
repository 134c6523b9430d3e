import { join } from "node:path";
import { otherRuntimes } from "../consumers/runtimes.ts";
import { run } from "../lib/run.ts";
import { root } from "../lib/workspace.ts";

/** Runs the conformance suite over the SQLite driver of a newer Node, which the tests of this Node cannot load. */
export async function nodeSqliteConforms(): Promise<string> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const selection = ["packages/sqlite/test/conformance", "-t", "over node:sqlite"];
  const newer = (await otherRuntimes()).find(({ name }) => name.startsWith("Node 24"));
  if (newer === undefined) throw new Error("Node 24 is not among the runtimes");
  const output = await run(newer.binary, [vitest, "run", ...selection], root);
  const [counts] = /[1-9]\d* passed, 0 failed/.exec(output) ?? [];
  if (counts === undefined) throw new Error(`no test ran:\n${output}`);
  return counts;
}
