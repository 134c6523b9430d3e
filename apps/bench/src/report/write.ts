import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MeasureName } from "../measure/measures.ts";
import type { Recording } from "../record.ts";
import { chartsOf } from "./charts.ts";
import { pageOf } from "./page.ts";
import { storesPageOf } from "./stores-page.ts";
import { groupBy, type Summary, summaryOf } from "./summary.ts";

/** Writes the report of a run: a page, its charts, and figures. Resolves with the path of the page. */
export async function writeReport(folder: string, recording: Recording): Promise<string> {
  const summary = summaryOf(recording.slices);
  await mkdir(join(folder, "charts"), { recursive: true });
  for (const { file, draw } of chartsOf(summary)) await writeFile(join(folder, file), draw());
  await writeFile(join(folder, "figures.json"), figuresText(recording, summary));
  const page = join(folder, "README.md");
  await writeFile(page, pageOf(recording));
  return page;
}

/** Writes the report of a run over single stores, a page. Resolves with its path. */
export async function writeStoresReport(folder: string, recording: Recording): Promise<string> {
  await mkdir(folder, { recursive: true });
  const page = join(folder, "benchmark-stores.md");
  await writeFile(page, storesPageOf(recording));
  return page;
}

/** JSON with a row for each contender in a cell: each measure with its lower quartile, median and upper quartile. */
function figuresText({ slices, ...about }: Recording, summary: Summary): string {
  const rows = groupBy(slices, ({ workload, cell, contender }) => JSON.stringify([workload, cell, contender]));
  const lines = [...rows.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const { workload, cell, contender } = first;
    const measures = new Set(some.flatMap(({ figures = {} }) => Object.keys(figures) as MeasureName[]));
    const values = [...measures].map((measure) => {
      const { low, median, high } = summary.value(first, contender, measure) ?? {};
      return [measure, [low, median, high].map((value) => Number(value?.toPrecision(4)))];
    });
    return JSON.stringify({ workload, cell, contender, rounds: some.length, ...Object.fromEntries(values) });
  });
  return `{\n"run": ${JSON.stringify(about)},\n"rows": [\n${lines.sort().join(",\n")}\n]\n}\n`;
}
