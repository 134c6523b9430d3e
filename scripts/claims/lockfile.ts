import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expectNone } from "../lib/claim.ts";
import { root } from "../lib/workspace.ts";

/** Finds addresses of tarballs, which would bind every install to the registry of the author. */
export async function lockfileNamesNoRegistry(): Promise<void> {
  const lines = (await readFile(join(root, "pnpm-lock.yaml"), "utf8")).split("\n");
  expectNone(lines.filter((line) => /\btarball: /.test(line)).map((line) => `pnpm-lock.yaml: ${line.trim()}`));
}
