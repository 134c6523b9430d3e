/** The files of reports: a page, the figures that it shows, and the charts that are drawn from them. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { chartSvg, type Figures } from "./charts/index.ts";

/** Returns the files of a report by their paths, the page first. `figures.json` has one row or chart on a line. */
export function reportFiles(page: string, figures: Figures): ReadonlyMap<string, string> {
  const { rows, charts, ...others } = figures;
  const lists = Object.entries({ rows, charts }).map(([name, values]) => {
    return `"${name}": [\n${values.map((value) => JSON.stringify(value)).join(",\n")}\n]`;
  });
  const parts = [...Object.entries(others).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`), ...lists];
  return new Map([
    ["README.md", page],
    ["figures.json", `{\n${parts.join(",\n")}\n}\n`],
    ...charts.map((chart) => [chart.file, chartSvg(figures, chart)] as const),
  ]);
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
