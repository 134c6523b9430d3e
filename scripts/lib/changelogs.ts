import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { publicPackages } from "./workspace.ts";

const nothingChanged = "No changes of its own: all packages are released together, in one version.";

/** Adds a sentence to each version without changes, for which `changeset version` leaves a bare heading. */
export async function fillChangelogs(workspace: string): Promise<void> {
  for (const { directory } of await publicPackages(workspace)) {
    const path = join(directory, "CHANGELOG.md");
    await writeFile(path, filled(await readFile(path, "utf8")));
  }
}

/** Returns the changelog with text under the heading of each version. */
export function filled(changelog: string): string {
  const [title, ...entries] = changelog.split(/^(?=## )/m);
  const complete = entries.map((entry) =>
    /^## .+\s*$/.test(entry) ? `${entry.trim()}\n\n${nothingChanged}\n\n` : entry,
  );
  return `${[title, ...complete].join("").trimEnd()}\n`;
}
