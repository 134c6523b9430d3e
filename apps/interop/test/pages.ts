import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/docs-testkit";

const interop = fileURLToPath(new URL("..", import.meta.url));

/** Returns the URL of a migration page. */
export function pageAbout(name: string): URL {
  return new URL(`../../../docs/migrating/${name}.md`, import.meta.url);
}

/**
 * Runs all code of a page, and returns the printed lines, with the headings in between. One program per page, because one
 * per heading would take far longer.
 *
 * @param adapt adapts the code, such as its ports
 */
export async function outputOf(page: string, adapt: (code: string, heading: string) => string): Promise<string[]> {
  const reports = join(interop, "reports");
  await mkdir(reports, { recursive: true });
  const steps: string[] = [];
  for (const { heading, code, line } of await readmeExamples(pageAbout(page))) {
    const file = `${page}-${line}.ts`;
    await writeFile(join(reports, file), adapt(code, heading));
    steps.push(`console.log(${JSON.stringify(heading)});`, `await import("./${file}");`);
  }
  return (await runExample(steps.join("\n"), interop, 90_000)).trimEnd().split("\n");
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
