import type { FileCalls } from "./coverage.ts";

/** The sums over a set of files. */
export interface Totals {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
}

/** Returns the sums over these files. */
export function totalsOf(files: readonly FileCalls[]): Totals {
  const functions = files.flatMap((file) => file.functions);
  return {
    files: files.length,
    functions: functions.length,
    calls: functions.reduce((sum, { calls }) => sum + calls, 0),
  };
}

/** Lists the files by package, with the totals of each package and of all; `names` also lists each function. */
export function table(title: string, files: readonly FileCalls[], names = false): string {
  const packages = [...new Set(files.map((file) => file.package))].sort();
  const rows = packages.flatMap((name) => {
    const own = files.filter((file) => file.package === name).sort((a, b) => (a.file < b.file ? -1 : 1));
    return [
      totalsRow(`  ${name}`, own),
      ...own.flatMap((file) => [fileRow(file), ...(names ? functionRows(file) : [])]),
    ];
  });
  return [row(title, "files", "functions", "calls"), ...rows, totalsRow("  together", files)].join("\n");
}

function totalsRow(title: string, of: readonly FileCalls[]): string {
  const { files, functions, calls } = totalsOf(of);
  return row(title, files, functions, calls);
}

function fileRow(file: FileCalls): string {
  const { functions, calls } = totalsOf([file]);
  return row(`    ${file.file}`, "", functions, calls);
}

function functionRows({ functions }: FileCalls): string[] {
  return functions.map(({ name, calls }) => row(`      ${name || "(anonymous)"}`, "", "", calls));
}

function row(title: string, ...cells: (number | string)[]): string {
  return title.padEnd(38) + cells.map((cell) => String(cell).padStart(11)).join("");
}
