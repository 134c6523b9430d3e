import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { chartSvg } from "@holdfast/app-kit/charts";
import type { ChaosOptions } from "../options.ts";
import type { Result } from "../run.ts";
import { type ReportFigures, reportFiguresOf } from "./figures.ts";
import { markdownOf } from "./markdown.ts";

/** Writes the report of a run: a page, its pictures, and their figures. Resolves with the path of the page. */
export async function writeReport(
  directory: string,
  options: ChaosOptions,
  results: readonly Result[],
): Promise<string> {
  const figures = reportFiguresOf(options, results);
  for (const [path, text] of filesOf(figures)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return join(directory, "README.md");
}

/** Returns the files of a report, by their paths. */
export function filesOf(figures: ReportFigures): ReadonlyMap<string, string> {
  const lists = (["rows", "charts"] as const).map((key) => {
    const lines = figures[key].map((value) => JSON.stringify(value));
    return `"${key}": [\n${lines.join(",\n")}\n]`;
  });
  return new Map([
    ["README.md", markdownOf(figures)],
    ["figures.json", `{\n"run": ${JSON.stringify(figures.run)},\n${lists.join(",\n")}\n}\n`],
    ...figures.charts.map((chart) => [chart.file, chartSvg(figures, chart)] as const),
  ]);
}
