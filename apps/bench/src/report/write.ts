import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Recording } from "../record.ts";
import { workloads } from "../workloads/index.ts";
import { picturesOf } from "./charts.ts";
import { markdownOf } from "./markdown.ts";
import { summaryOf } from "./summary.ts";

/** Writes the report of a run: a page, its charts, and all figures. Answers the path of the page. */
export async function writeReport(folder: string, recording: Recording): Promise<string> {
  const summary = summaryOf(recording.turns);
  const measured = workloads.filter(({ name }) => recording.turns.some(({ workload }) => workload === name));
  for (const picture of measured.flatMap((workload) => picturesOf(workload, summary))) {
    const path = join(folder, picture.file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, picture.draw());
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "figures.json"), `${JSON.stringify(recording, null, 1)}\n`);
  const page = join(folder, "README.md");
  await writeFile(page, markdownOf(recording));
  return page;
}
