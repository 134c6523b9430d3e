import type { BarChart, Kind } from "@holdfast/app-kit/charts";
import { type Contender, overSeveralServers, type Promises } from "../contenders/contender.ts";
import { librariesAndRaw } from "../contenders/index.ts";
import { type MeasureName, measures } from "../measure/measures.ts";
import type { Slice } from "../record.ts";
import { cold } from "../workloads/cold.ts";
import { contended } from "../workloads/contended.ts";
import { handOver } from "../workloads/hand-over.ts";
import { roundTrips, uncontended } from "../workloads/uncontended.ts";
import { countOf, type Workload } from "../workloads/workload.ts";
import { groupBy, type MeasuredCell, measuredCells } from "./summary.ts";

/** The promises that the charts mark with letters, and their titles. */
export const promiseTitles = [
  ["fencingToken", "fencing token", "T"],
  ["checkedValidity", "checked validity", "V"],
  ["waitingWithoutPolling", "waits without polling", "W"],
  ["extension", "automatic extension", "E"],
] as const satisfies readonly (readonly [keyof Promises, string, string])[];

const promisesKey = promiseTitles.map(([, title, letter]) => `${letter}: ${title}`).join(", ");
const rangesKey = "Bars are medians, lines are quartiles.";

/** The measures of the workloads that have charts. */
const charted: readonly (readonly [Workload, readonly MeasureName[]])[] = [
  [roundTrips, ["pairsPerSecond"]],
  [uncontended, ["pairsPerSecond"]],
  [cold, ["clientCpuUs"]],
  [contended, ["locksPerSecond", "waitP99Ms"]],
  [handOver, ["handOverP50Ms", "handOverP99Ms"]],
];

/** The charts of all workloads, each with a panel for each cell. */
export function chartsOf(slices: readonly Slice[]): BarChart[] {
  return charted.flatMap(([workload]) => workloadCharts(workload, slices));
}

/** The charts of a workload: for each number of servers, or for each measure. */
export function workloadCharts(workload: Workload, slices: readonly Slice[]): BarChart[] {
  const shown = charted.find(([one]) => one === workload)?.[1] ?? [];
  const groups = [...groupBy(measuredCells(workload, slices), ({ cell }) => cell.servers)];
  return groups.flatMap(([servers, cells]) =>
    shown.map((measure) => {
      const { title } = measures[measure];
      const choice = shown.length > 1 ? title : countOf(servers, "server");
      return {
        ...{ type: "bars", file: `charts/${workload.name}-${choice.replace(/\W+/g, "-")}.svg`, choice },
        title: `${workload.title}: ${title}, ${countOf(servers, "server")}`,
        ...contendersOf(workload, servers, cells),
        panels: cells.map((cell) => panelOf(cell, measure)),
      };
    }),
  );
}

/** What the contenders stand for. */
export function kindsOf(contenders: readonly Contender[]): Record<string, Kind> {
  const kinds = { holdfast: "own", peer: "other", reference: "reference" } as const;
  return Object.fromEntries(contenders.map(({ name, role }) => [name, kinds[role]]));
}

function contendersOf(workload: Workload, servers: number, cells: readonly MeasuredCell[]) {
  const measured = new Set(cells.flatMap(({ contenders }) => contenders));
  // The locks written by hand are the bounds of a lock with a token, which have a page of their own.
  const shown = [...measured].filter((one) => workload !== uncontended || librariesAndRaw.includes(one));
  const notes = shown.flatMap(({ name, promises }) =>
    promises === undefined ? [] : [[name, lettersOf(promises, servers)] as const],
  );
  const key = notes.length === 0 ? rangesKey : `${rangesKey} ${promisesKey}.`;
  return { only: shown.map(({ name }) => name), notes: Object.fromEntries(notes), key };
}

function lettersOf(promises: Promises, servers: number): string {
  const isKept = (promise: string | undefined) =>
    promise !== undefined && (servers > 1 || promise !== overSeveralServers);
  return promiseTitles.flatMap(([promise, , letter]) => (isKept(promises[promise]) ? letter : [])).join(" ");
}

function panelOf({ workload, cell }: MeasuredCell, measure: MeasureName): BarChart["panels"][number] {
  const { format, better } = measures[measure];
  const network = cell.roundTripMs === undefined ? "" : `${cell.roundTripMs} ms, `;
  const isNamed = workload === contended || workload === handOver;
  return {
    title: isNamed ? cell.name : `${network}${cell.atATime.toLocaleString("en")} at a time`,
    where: { workload: workload.name, cell: cell.name },
    ...{ name: "contender", value: measure, format, first: better === "more" ? "largest" : "smallest" },
  };
}
