import type { Contender } from "../contenders/contender.ts";
import { contenderNamed, librariesAndRaw } from "../contenders/index.ts";
import type { Machine } from "../machine.ts";
import { measureNamed } from "../measure/measures.ts";
import type { Recording } from "../record.ts";
import { othersShareMax } from "../run.ts";
import { contended } from "../workloads/contended.ts";
import { counts } from "../workloads/counts.ts";
import { handOver } from "../workloads/hand-over.ts";
import { roundTrips, separateCoresWorkload, uncontended } from "../workloads/uncontended.ts";
import { type Cell, countOf, type Workload } from "../workloads/workload.ts";
import { cellName, measuredCells } from "./cells.ts";
import { chartsOf, promiseTitles } from "./charts.ts";
import { comparisons, peerRatio, ratioRows } from "./ratios.ts";
import { slowerPart } from "./slower.ts";
import { groupBy, type Summary, summaryOf } from "./summary.ts";
import { medianText, quartilesText, tableText } from "./text.ts";

const throughput = "pairsPerSecond";
const ratioFormat = { format: "ratio" } as const;

/** The report of a run, as Markdown. */
export function pageOf(recording: Recording): string {
  const summary = summaryOf(recording.slices);
  const parts = [
    head(recording),
    ...roundTripPart(summary),
    promisesPart(),
    ...uncontendedPart(summary),
    ...slowerPart(summary),
    ...separateCoresPart(summary),
    ...tablesPart(contended, summary),
    ...handOverPart(summary),
    ...tablesPart(counts, summary),
    ...figuresPart(summary),
    meanings(),
    machinePart(recording.machine),
  ];
  return `${parts.join("\n\n")}\n`;
}

function head({ command, machine, seconds, isQuick, notes, repeated, slices }: Recording): string {
  const rounds = Math.max(...slices.map(({ round }) => round));
  const disturbed = slices.filter(({ othersShare }) => othersShare > othersShareMax).length;
  const minutes = countOf(Math.max(1, Math.round(seconds / 60)), "minute");
  const notesText = notes.map((note) => `\n- ${note}`).join("");
  return `# Benchmark: which library, on how many servers, how fast, and what do I get for it?

Lock libraries acquire and release locks on real Redis servers, all in one run. Figures are medians over its rounds, with
quartiles in brackets. Absolute figures depend on the machine; ratios are taken within each round. [How the benchmark
measures](./method.md) explains the method, and [What a token costs](./bounds.md) what bounds a lock with a token.

- \`${command}\`, ${machine.date}, ${countOf(machine.cores, "core")}: ${minutes}, ${countOf(rounds, "round")}${isQuick ? ", a quick run with rough figures" : ""}
- ${countOf(slices.length, "slice")}; measured again because others used the machine: ${repeated}; disturbed in the end: ${disturbed}${notesText}`;
}

/** Holdfast stands out. */
function nameText({ name, role }: Contender): string {
  return role === "holdfast" ? `**${name}**` : name;
}

/** Rows for contenders, columns for cells; the last rows compare Holdfast with the best peer. */
function overview(
  workload: Workload,
  cells: readonly Cell[],
  titleOf: (cell: Cell) => string,
  summary: Summary,
): string {
  const names = new Set(cells.flatMap((cell) => summary.contendersIn(cellName(workload, cell))));
  const measure = measureNamed(throughput);
  const valuesOf = ({ name }: Contender) =>
    cells.map((cell) => medianText(summary.value(cellName(workload, cell), name, throughput), measure));
  const ratiosOf = (comparison: (typeof comparisons)[number]) =>
    cells.map((cell) => quartilesText(peerRatio(summary, cellName(workload, cell), comparison), ratioFormat));
  return tableText(
    ["pairs/s", ...cells.map(titleOf)],
    [
      ...[...names].map((contender) => [nameText(contender), ...valuesOf(contender)]),
      ...comparisons
        .filter(({ contender }) => names.has(contenderNamed(contender)))
        .map((comparison) => [`*${comparison.title}*`, ...ratiosOf(comparison)]),
    ],
  );
}

function roundTripPart(summary: Summary): string[] {
  const cells = measuredCells(roundTrips, summary);
  if (cells.length === 0) return [];
  const tables = [...groupBy(cells, ({ servers }) => servers)].map(
    ([servers, some]) =>
      `### ${countOf(servers, "server")}\n\n${overview(roundTrips, some, ({ roundTripMs, atATime }) => `${roundTripMs} ms, ${atATime} at a time`, summary)}`,
  );
  return [
    "## With a network: what most users will see",
    "A process between client and servers delays all bytes by half a round trip in each direction. A pair of acquire and " +
      "release takes two round trips, whatever the library does; so the network decides how fast one lock at a time is, " +
      "and the libraries differ where many locks share the processor.",
    ...tables,
  ];
}

function promisesPart(): string {
  const rows = librariesAndRaw.flatMap((contender) => {
    const { promises } = contender;
    if (promises === undefined) return [];
    const facts = promiseTitles.map(([promise]) => (promise in promises ? promises[promise] : undefined) ?? "no");
    return [[nameText(contender), ...facts, promises.waiting]];
  });
  return `## What each library promises

Every library here gives mutual exclusion while clocks and pauses behave. These promises cover the rest: a **fencing token**
lets storage refuse a client that lost its lock without noticing; **checked validity** refuses a lock that took so long to
acquire that it has expired; **waiting without polling** wakes a waiter when the lock is released; **extension** keeps a
lock for as long as the work takes.

${tableText(["library", ...promiseTitles.map(([, title]) => title), "how it waits"], rows, "text")}`;
}

function uncontendedPart(summary: Summary): string[] {
  if (measuredCells(uncontended, summary).length === 0) return [];
  const ratios = comparisons.flatMap((comparison) => {
    const [titles = [], ...rows] = ratioRows(summary, comparison);
    return [`${comparison.title}:`, tableText(titles, rows)];
  });
  return [
    "## Without a network: what a library itself costs",
    uncontended.description,
    ...chartsOf(summary).map(({ title, file }) => `![${title}](${file})`),
    ...ratios,
  ];
}

function separateCoresPart(summary: Summary): string[] {
  const cells = measuredCells(separateCoresWorkload, summary);
  if (cells.length === 0) return [];
  return [
    `## ${separateCoresWorkload.title}`,
    separateCoresWorkload.description,
    overview(separateCoresWorkload, cells, ({ name }) => name, summary),
  ];
}

/** A table for each cell. */
function tablesPart(workload: Workload, summary: Summary): string[] {
  const cells = measuredCells(workload, summary);
  if (cells.length === 0) return [];
  return [
    `## ${workload.title}`,
    workload.description,
    ...cells.map((cell) => `### ${cell.name}\n\n${cellTable(workload, cell, summary)}`),
  ];
}

/** A row for each contender, the best first. */
function cellTable(
  workload: Workload,
  cell: Cell,
  summary: Summary,
  against = bestPeer(workload, cell, summary),
): string {
  const at = cellName(workload, cell);
  const [first, ...others] = workload.columns;
  const contenders = summary.ranked(at, first);
  const rows = contenders.map((contender) => [
    nameText(contender),
    quartilesText(summary.value(at, contender.name, first), measureNamed(first)),
    ...(against ? [quartilesText(summary.ratio(at, contender.name, against, first), ratioFormat)] : []),
    ...others.map((measure) => medianText(summary.value(at, contender.name, measure), measureNamed(measure))),
  ]);
  const titles = others.map((measure) => measureNamed(measure).title);
  const table = tableText(["", measureNamed(first).title, ...(against ? [`÷ ${against}`] : []), ...titles], rows);
  const errors = contenders.flatMap(({ name }) => errorText(name, summary.errors(at, name)));
  return errors.length === 0 ? table : `${table}\n\n${errors.join("\n")}`;
}

function bestPeer(workload: Workload, cell: Cell, summary: Summary): string | undefined {
  return summary.bestPeer(cellName(workload, cell), workload.columns[0])?.name;
}

/** Each error once, with its number of slices. */
function errorText(contender: string, errors: readonly string[]): string[] {
  return [...groupBy(errors, (error) => error)].map(
    ([error, some]) => `- ${contender}, ${countOf(some.length, "slice")}: ${error}`,
  );
}

function handOverPart(summary: Summary): string[] {
  const cells = measuredCells(handOver, summary);
  if (cells.length === 0) return [];
  const tables = cells.map((cell) => {
    const at = cellName(handOver, cell);
    const rows = summary
      .ranked(at, "handOverP50Ms")
      .map((contender) => [
        nameText(contender),
        ...(["handOverP50Ms", "handOverP99Ms"] as const).flatMap((measure) => [
          quartilesText(summary.value(at, contender.name, measure), measureNamed(measure)),
          quartilesText(summary.ratio(at, contender.name, "bare", measure), ratioFormat),
        ]),
        medianText(summary.value(at, contender.name, "handOvers"), measureNamed("handOvers")),
      ]);
    return `### ${cell.name}\n\n${tableText(["", "p50", "÷ bare", "p99", "÷ bare", "hand-overs a round"], rows)}`;
  });
  return [`## ${handOver.title}`, handOver.description, ...tables];
}

function figuresPart(summary: Summary): string[] {
  const tables = measuredCells(uncontended, summary).map(
    (cell) => `### ${cell.name}\n\n${cellTable(uncontended, cell, summary)}`,
  );
  if (tables.length === 0) return [];
  return ["## Figures", "Without a network, cell by cell. `figures.json` has the same for all workloads.", ...tables];
}

function meanings(): string {
  const names = new Set([uncontended, contended, handOver, counts].flatMap(({ columns }) => columns));
  const rows = [...names].map((name) => [measureNamed(name).title, measureNamed(name).meaning]);
  return `## What the columns mean\n\n${tableText(["column", "meaning"], rows, "text")}`;
}

function machinePart({ processor, cores, memoryGb, system, node, redisServer, versions }: Machine): string {
  const rows = [
    ["processor", `${processor}, ${countOf(cores, "core")}`],
    ["memory", `${memoryGb} GB`],
    ["system", system],
    ["Node.js", node],
    ["redis-server", redisServer],
    ...Object.entries(versions),
  ];
  return `## Machine\n\n${tableText(["", ""], rows, "text")}`;
}
