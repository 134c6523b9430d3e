import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { markdownTable } from "../lib/markdown.ts";
import { run } from "../lib/run.ts";
import { root, scripts } from "../lib/workspace.ts";

interface Measured {
  readonly name: string;
  readonly size: number;
}

/**
 * Measures the files and imports in `.size-limit.json`, and checks the table of sizes in the README. size-limit fails when
 * one exceeds its limit.
 */
export async function sizes(): Promise<string> {
  const measured: Measured[] = JSON.parse(await run("size-limit", ["--json"], scripts));
  await readmeShows(measured.filter(({ name }) => /^core( with .+)?$/.test(name)));
  return measured.map(({ name, size }) => `${name} ${(size / 1_000).toFixed(2)} kB`).join(", ");
}

/** Checks that the README has these sizes, rounded so that few changes alter it. */
async function readmeShows(imports: readonly Measured[]): Promise<void> {
  const columns = imports.map(({ name }) => name.replace("core with", "with"));
  const table = markdownTable(columns, [imports.map(({ size }) => `${Math.round(size / 1_000)} kB`)]);
  const page = await readFile(join(root, "README.md"), "utf8");
  if (!page.includes(table)) throw new Error(`README.md has other sizes than these:\n${table}`);
}
