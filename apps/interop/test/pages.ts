import { readFile } from "node:fs/promises";

/** Where a page about moving from another library is. */
export function pageAbout(name: string): URL {
  return new URL(`../../../docs/migrating/${name}.md`, import.meta.url);
}

/** A row of the table under "Options": what an option of theirs is, and what Holdfast has for it. */
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

/** Without what Markdown and readers need: `10 000` is 10000. */
function plain(cell: string): string {
  return cell
    .replaceAll("`", "")
    .replaceAll(/(?<=\d) (?=\d)/g, "")
    .trim();
}
