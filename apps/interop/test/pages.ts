import { readFile } from "node:fs/promises";

/** Returns the URL of a migration page. */
export function pageAbout(name: string): URL {
  return new URL(`../../../docs/migrating/${name}.md`, import.meta.url);
}

/** A row of the table under "Options": an option of the other library, and that of Holdfast. */
export interface OptionRow {
  readonly theirs: string;
  readonly theirDefault: string;
  readonly ours: string;
  readonly ourDefault: string;
}

/** The rows of the table under "Options" on a page. */
export async function optionRows(page: URL): Promise<OptionRow[]> {
  const text = await readFile(page, "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith("Options")) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(2).map((row) => {
    const [theirs = "", theirDefault = "", ours = "", ourDefault = ""] = row.split("|").slice(1).map(plain);
    return { theirs, theirDefault, ours, ourDefault };
  });
}

/** Strips formatting: `10 000` becomes 10000. */
function plain(cell: string): string {
  return cell
    .replaceAll("`", "")
    .replaceAll(/(?<=\d) (?=\d)/g, "")
    .trim();
}
