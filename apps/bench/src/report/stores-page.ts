/** The report of a run over single stores. */
import { tableText } from "@holdfast/app-kit/report";
import type { Contender } from "../contenders/contender.ts";
import { inStores, storePairs } from "../contenders/index.ts";
import type { Recording } from "../record.ts";
import { storeWorkloads } from "../workloads/index.ts";
import { ownNames } from "../workloads/stores.ts";
import { cellTable, machinePart, meaningsOf, originText, tablesPart, textOfParts } from "./page.ts";
import { type MeasuredCell, measuredCells } from "./summary.ts";
import { medianText, ratioText, wrapped } from "./text.ts";

/** The report, as Markdown. */
export function storesPageOf(recording: Recording): string {
  const { slices, machine } = recording;
  return textOfParts([
    `${introduction}\n\n${originText(recording)}`,
    ...overview(measuredCells(ownNames, slices)),
    ...storeWorkloads.flatMap((workload) => tablesPart(workload, slices, tableOf)),
    meaningsOf(storeWorkloads),
    machinePart(machine),
  ]);
}

const introduction = `# Benchmark of single stores: what does a lock cost in the store that I have?

\`new Redlock([node])\` over one PostgreSQL, MariaDB, etcd, SQLite or Redis, and beside each the usual way to lock
there, in one run. Figures are medians over its rounds, with quartiles in brackets; ratios are those of medians. Absolute figures
depend on the machine, and above all on its disk. [Single stores](../benchmark/method.md#single-stores) says what each lock
gives, and how stores are measured. [Choose a store](../guarantees.md) by what it guarantees first.`;

function overview(cells: readonly MeasuredCell[]): string[] {
  if (cells.length === 0) return [];
  const [measure] = ownNames.columns;
  const rows = storePairs.map(({ title, holdfast, other }) => [
    `**${title}**`,
    ...cells.map(({ value, ratio }) => {
      const pairs = medianText(value(holdfast.name, measure), measure);
      return `${pairs} · ${ratioText(ratio(holdfast.name, other.name, measure))}`;
    }),
  ]);
  const names = storePairs.map(({ title, other }) => `${title}: ${other.name}`).join("; ");
  return [
    "## At a glance",
    wrapped(
      `Pairs of acquire and release in a second with Holdfast, and their ratio to the usual way to lock with that store ` +
        `(${names}). *Synced* means that each claim is on the disk before the call returns.`,
    ),
    tableText(["Holdfast, pairs/s · ratio", ...cells.map(({ cell }) => cell.name)], rows),
  ];
}

/** Holdfast and the other way for each store, with their ratio. */
function tableOf(measured: MeasuredCell): string {
  const { workload, contenders, ratio } = measured;
  const ratios = {
    title: "÷ the other",
    of(contender: Contender): string {
      const pair = storePairs.find(({ holdfast }) => holdfast === contender);
      return pair === undefined ? "" : ratioText(ratio(contender.name, pair.other.name, workload.columns[0]));
    },
  };
  const hasRatio = storePairs.some(({ other }) => contenders.includes(other));
  const inPairs = inStores.filter((contender) => contenders.includes(contender));
  return cellTable(measured, inPairs, hasRatio ? [ratios] : []);
}
