import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { publicPackages } from "./workspace.ts";

const nothingChanged = "No changes of its own: all packages are released together, in one version.";

/** Says so where a package got a version without a change: `changeset version` leaves a bare heading. */
export async function fillChangelogs(workspace: string): Promise<void> {
  for (const { directory } of await publicPackages(workspace)) {
    const path = join(directory, "CHANGELOG.md");
    await writeFile(path, filled(await readFile(path, "utf8")));
  }
}

/** A changelog in which no version's heading stands alone. */
export function filled(changelog: string): string {
  const [title, ...entries] = changelog.split(/^(?=## )/m);
  const told = entries.map((entry) => (/^## .+\s*$/.test(entry) ? `${entry.trim()}\n\n${nothingChanged}\n\n` : entry));
  return `${[title, ...told].join("").trimEnd()}\n`;
}
