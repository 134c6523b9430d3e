import { writeFiles } from "@holdfast/app-kit/report";
import type { MeasureName } from "../measure/measures.ts";
import type { Recording, Slice } from "../record.ts";
import { pageOf } from "./page.ts";
import { storesPageOf } from "./stores-page.ts";
import { groupBy, summaryOf } from "./summary.ts";

/** The pages of the subjects of a run. */
const pages = {
  libraries: { name: "README.md", textOf: pageOf },
  stores: { name: "benchmark-stores.md", textOf: storesPageOf },
};

/** Writes the report of a run: a page, and for libraries its figures. Resolves with the path of the page. */
export function writeReport(subject: keyof typeof pages, folder: string, recording: Recording): Promise<string> {
  const { name, textOf } = pages[subject];
  const files = new Map([[name, textOf(recording)]]);
  if (subject === "libraries") files.set("figures.json", figuresOf(recording));
  return writeFiles(folder, files);
}

/** The content of `figures.json`: a row on a line for each contender in a cell, with the quartiles of each measure. */
function figuresOf({ slices, ...run }: Recording): string {
  const groups = groupBy(slices, ({ workload, cell, contender }) => JSON.stringify([workload, cell, contender]));
  const rows = [...groups.keys()].sort().map((key) => {
    const some = groups.get(key) as Slice[];
    const { workload, cell, contender } = some[0] as Slice;
    const names = new Set(some.flatMap(({ figures = {} }) => Object.keys(figures) as MeasureName[]));
    const summary = summaryOf(some);
    const values = [...names].map((measure) => {
      const { low, median, high } = summary.value(contender, measure) ?? {};
      return [measure, [low, median, high].map((value) => Number(value?.toPrecision(4)))];
    });
    return JSON.stringify({ workload, cell, contender, rounds: some.length, ...Object.fromEntries(values) });
  });
  return `{\n"run": ${JSON.stringify(run)},\n"rows": [\n${rows.join(",\n")}\n]\n}\n`;
}
