/** The progress of a run. */

import { measures } from "./measure/measures.ts";
import type { Step } from "./plan.ts";
import type { Slice } from "./record.ts";
import { valueText } from "./report/text.ts";
import { countOf } from "./workloads/workload.ts";

/** The first line: the number of slices, and the estimated time. */
export function planText(steps: readonly Step[], estimateMs: number): string {
  const workloads = new Set(steps.map(({ workload }) => workload.name));
  const cells = new Set(steps.map(({ workload, cell }) => `${workload.name} ${cell.name}`));
  const minutes = Math.ceil(estimateMs / 60_000);
  const amount = `${countOf(steps.length, "slice")} in ${countOf(cells.size, "cell")}`;
  return `${amount} (${[...workloads].join(", ")}): about ${minutes} min.`;
}

/** A line for one slice. */
export function sliceText({ workload, contender, round }: Step, slice: Slice, elapsedMs: number): string {
  const [first] = workload.columns;
  const value = slice.figures?.[first];
  const measure = measures[first];
  const text =
    value === undefined
      ? (slice.error ?? "nothing measured")
      : `${valueText(value, measure.format)}${measure.format === "ms" ? "" : ` ${measure.title}`}`;
  const stuck = slice.figures?.stuck ? ", stuck" : "";
  const place = `${workload.name}, ${slice.cell}`;
  return `${clock(elapsedMs)}  ${round}  ${place.padEnd(58)}  ${contender.name.padEnd(32)}  ${text}${stuck}`;
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, "0")}`;
}
