import { rm } from "node:fs/promises";
import { join } from "node:path";
import { chartSvg, type Figures, type Row } from "@holdfast/app-kit/charts";
import { reportFiles, writeFiles } from "@holdfast/app-kit/report";
import { everyone } from "../contenders/index.ts";
import type { MeasureName } from "../measure/measures.ts";
import type { Recording } from "../record.ts";
import { chartsOf, kindsOf } from "./charts.ts";
import { pageOf, waitingPageOf } from "./page.ts";
import { storesPageOf } from "./stores-page.ts";
import { groupBy, summaryOf } from "./summary.ts";

/** The pages of the subjects of a run. */
const pages = {
  libraries: { name: "README.md", textOf: pageOf },
  stores: { name: "benchmark-stores.md", textOf: storesPageOf },
  waiting: { name: "waiting.md", textOf: waitingPageOf },
};

/** Writes the report of a run: a page, and for libraries its charts and their figures. Resolves with the path of the page. */
export async function writeReport(subject: keyof typeof pages, folder: string, recording: Recording): Promise<string> {
  const { name, textOf } = pages[subject];
  const page = textOf(recording);
  if (subject !== "libraries") return writeFiles(folder, new Map([[name, page]]));
  await rm(join(folder, "charts"), { recursive: true, force: true });
  const figures = figuresOf(recording);
  const drawn = figures.charts.map((chart) => [chart.file, chartSvg(figures, chart)] as const);
  return writeFiles(folder, new Map([...reportFiles(page, figures), ...drawn]));
}

/** The content of `figures.json`. */
export interface ReportFigures extends Figures {
  /** How the figures were measured. */
  readonly run: Omit<Recording, "slices">;
}

/** A row for each contender in a cell: each measure with its lower quartile, median and upper quartile. */
function figuresOf({ slices, ...run }: Recording): ReportFigures {
  const groups = groupBy(slices, ({ workload, cell, contender }) => JSON.stringify([workload, cell, contender]));
  const rows = [...groups.values()].flatMap((some): Row[] => {
    const [first] = some;
    if (first === undefined) return [];
    const { workload, cell, contender } = first;
    const names = new Set(some.flatMap(({ figures = {} }) => Object.keys(figures) as MeasureName[]));
    const summary = summaryOf(some);
    const values = [...names].map((measure) => {
      const { low, median, high } = summary.value(contender, measure) ?? {};
      return [measure, [low, median, high].map((value) => Number(value?.toPrecision(4)))];
    });
    return [{ workload, cell, contender, rounds: some.length, ...Object.fromEntries(values) }];
  });
  const measured = new Set(rows.map(({ contender }) => contender));
  const kinds = kindsOf(everyone.filter(({ name }) => measured.has(name)));
  // Charts show contenders with equal figures in the order of the rows.
  return { run, kinds, rows: rows.sort((a, b) => (lineOf(a) < lineOf(b) ? -1 : 1)), charts: chartsOf(slices) };
}

function lineOf(value: unknown): string {
  return JSON.stringify(value);
}
