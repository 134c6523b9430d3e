/** The goals of Holdfast beside the best peer, and how far they are reached. */
import { tableText } from "@holdfast/app-kit/report";
import { type MeasureName, measures } from "../measure/measures.ts";
import type { Slice } from "../record.ts";
import { cold } from "../workloads/cold.ts";
import { roundTrips, uncontended } from "../workloads/uncontended.ts";
import type { Cell, Workload } from "../workloads/workload.ts";
import { type MeasuredCell, measuredCells } from "./summary.ts";
import { alignedText, medianText, ratioText, wrapped } from "./text.ts";

/** Goals for one measure in the cells of a workload. */
interface Goals {
  readonly title: string;
  readonly workload: Workload;
  readonly measure: MeasureName;
  /** Default: `holdfast/ioredis`. */
  readonly contender?: string;
  /** Default: the best peer of the cell. */
  readonly against?: string;
  /** The ratio to reach in a cell: the least, or the most for a measure of which less is better. */
  goal(cell: Cell): number | undefined;
}

const ours = "holdfast/ioredis";
/** The bounds of a lock with a token: a client without a library, with a call for each operation, and for those of a tick. */
const byHand = "raw ioredis, fenced";
const batchedByHand = `${byHand}, batching`;

const allGoals: readonly Goals[] = [
  {
    ...{ title: "Pairs a second", workload: uncontended, measure: "pairsPerSecond" },
    goal: grid({ 1: [0.9, 1.1, 2], 3: [0.9, 2.6, 4], 5: [0.95, 3, 5] }),
  },
  {
    ...{ title: "Processor time of a pair, client and servers", workload: uncontended, measure: "cpuUs" },
    goal: grid({ 1: [1.15, 0.7, 0.45], 3: [1.15, 0.4, 0.25], 5: [1.15, 0.3, 0.2] }),
  },
  {
    ...{ title: "Latency of a pair, p99", workload: uncontended, measure: "pairP99Ms" },
    goal: ({ atATime }) => (atATime === 1 ? undefined : 1),
  },
  { title: "Over a network, pairs a second", workload: roundTrips, measure: "pairsPerSecond", goal: () => 0.97 },
  { title: `${cold.title}, processor time`, workload: cold, measure: "clientCpuUs", goal: () => 1.3 },
  {
    ...{ title: "node-redis beside ioredis, pairs a second", workload: uncontended, measure: "pairsPerSecond" },
    ...{ contender: "holdfast/node-redis", against: ours, goal: () => 0.9 },
  },
];

/** Reads goals by servers, each for 1, 10 and 100 locks at a time. */
function grid(goals: Readonly<Record<number, readonly number[]>>): Goals["goal"] {
  return ({ servers, atATime }) => goals[servers]?.[Math.log10(atATime)];
}

/** The part of the page with a table for each measure that was measured. */
export function goalsPart(slices: readonly Slice[]): string[] {
  const tables = tablesOf(slices);
  if (tables.length === 0) return [];
  return [
    "## Goals, reached or not",
    wrapped(
      "Ratios of Holdfast to the best peer in the same cell of this run. The best peer is the library with the most pairs a " +
        "second, over either client; for cold processes, the one with the least processor time. “By hand” is the ratio of " +
        `“${byHand}” to the same peer: the same commands in a script, without a library. “Batched” is that of ` +
        `“${batchedByHand}”, one call for all operations of a tick, where there are many at a time. A goal that neither ` +
        "reaches is out of reach by hand, too.",
    ),
    ...tables.map(({ title, head, rows }) => `### ${title}\n\n${tableText(head, rows)}`),
  ];
}

/** The same tables for a terminal; empty if there are none. */
export function goalLines(slices: readonly Slice[]): string {
  return tablesOf(slices)
    .map(({ title, head, rows }) => `${title}\n${alignedText([head, ...rows])}`)
    .join("\n\n");
}

function tablesOf(slices: readonly Slice[]) {
  return allGoals.flatMap((goals) => {
    const rows = measuredCells(goals.workload, slices).flatMap((measured) => rowOf(goals, measured));
    const head = ["", goals.contender ?? ours, "ratio", "goal", "", "by hand", "batched", "ratio to"];
    return rows.length === 0 ? [] : [{ title: goals.title, head, rows }];
  });
}

/** No row if one of the two was not measured. */
function rowOf(goals: Goals, { cell, ...summary }: MeasuredCell): string[][] {
  const { workload, measure, contender = ours, against, goal } = goals;
  const other = against ?? summary.bestPeer(workload.columns[0])?.name;
  const ratio = other && summary.ratio(contender, other, measure);
  if (!other || !ratio) return [];
  const value = medianText(summary.value(contender, measure), measure);
  const bound = (name: string): string => (against === undefined ? ratioText(summary.ratio(name, other, measure)) : "");
  const bounds = [bound(byHand), cell.atATime > 1 ? bound(batchedByHand) : ""];
  return [[cell.name, value, ratioText(ratio), ...goalTexts(measure, ratio, goal(cell)), ...bounds, other]];
}

function goalTexts(measure: MeasureName, ratio: number, goal: number | undefined): [string, string] {
  if (goal === undefined) return ["", ""];
  const isMore = measures[measure].better === "more";
  const isReached = isMore ? ratio >= goal : ratio <= goal;
  return [`${isMore ? "≥" : "≤"} ${ratioText(goal)}`, isReached ? "reached" : "not reached"];
}
