/** Reports: tables and files. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A Markdown table. The columns of texts come first, and those of numbers are aligned on the right. */
export function tableText(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  textColumns = 1,
): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => (column < textColumns ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** Writes files into a folder. Resolves with the path of the first one. */
export async function writeFiles(folder: string, files: ReadonlyMap<string, string>): Promise<string> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const [page = ""] = files.keys();
  return join(folder, page);
}
