import { contenderNamed } from "../contenders/index.ts";
import type { Machine } from "../machine.ts";
import { type MeasureName, measureNamed } from "../measure/measures.ts";
import type { Recording } from "../record.ts";
import { workloads } from "../workloads/index.ts";
import type { Case, Workload } from "../workloads/workload.ts";
import { picturesOf } from "./charts.ts";
import { type Place, type Spot, type Summary, summaryOf } from "./summary.ts";
import { findingsOf, targetsTable } from "./targets.ts";
import { quartilesText, ratioText, tableText } from "./text.ts";

/** The report of a run. */
export function markdownOf(recording: Recording): string {
  const summary = summaryOf(recording.turns);
  const measured = workloads.filter(({ name }) => recording.turns.some(({ workload }) => workload === name));
  const parts = [
    head(recording),
    "## Targets\n\nWhat is compared is ours divided by the other. The size of core is another target, which `pnpm check` looks at.",
    targetsTable(findingsOf(summary)),
    ...measured.map((workload) => sectionOf(workload, summary)),
    meanings(measured),
  ];
  return `${parts.join("\n\n")}\n`;
}

function head({ machine, command, seconds, isQuick, turns }: Recording): string {
  const rounds = Math.max(...turns.map(({ round }) => round));
  const minutes = Math.max(1, Math.round(seconds / 60));
  return `# Benchmark

\`${command}\`, ${machine.date}: ${minutes} ${minutes === 1 ? "minute" : "minutes"}, ${rounds} ${rounds === 1 ? "round" : "rounds"} at the most${isQuick ? "; a quick run, with rough figures" : ""}.

${machineText(machine)}

Figures are medians over the rounds, with quartiles where they differ; \`figures.json\` has those of each round. Absolute
figures move with the machine: what counts are ratios within one run, which are taken round by round. What is measured, and
how, is told in \`docs/benchmark/method.md\`; what keeps targets from being reached, in \`docs/benchmark/bounds.md\`.`;
}

function machineText({ processor, cores, memoryGb, system, node, redisServer, versions }: Machine): string {
  const rows = [
    ["processor", `${processor}, ${cores} cores`],
    ["memory", `${memoryGb} GB`],
    ["system", system],
    ["Node.js", node],
    ["redis-server", redisServer],
    ...Object.entries(versions),
  ];
  return tableText(["machine", ""], rows, "text");
}

function sectionOf(workload: Workload, summary: Summary): string {
  const { title, description, layout, columns } = workload;
  const cases = workload.cases.filter((one) => summary.contendersAt(placeOf(workload, one)).length > 0);
  const pictures = picturesOf(workload, summary).map(({ file, title: alt }) => `![${alt}](${file})`);
  const tables =
    layout === "tables"
      ? cases.map((one) => `${cases.length > 1 ? `### ${one.name}\n\n` : ""}${caseTable(workload, one, summary)}`)
      : columns.map((measure) => curveTable(workload, cases, measure, summary));
  return [`## ${title}`, description, ...pictures, ...tables].join("\n\n");
}

/** Where a case is in the summary. */
function placeOf({ name }: Workload, one: Case): Place {
  return { workload: name, case: one.name };
}

const nothing = "–";

/** One row for each contender, the best first. */
function caseTable(workload: Workload, one: Case, summary: Summary): string {
  const place = placeOf(workload, one);
  const [first, ...others] = workload.columns as [MeasureName, ...MeasureName[]];
  const names = summary.ranked({ ...place, measure: first }).map(({ name }) => name);
  const peers = summary.contendersAt(place).filter(({ role }) => role === "peer");
  const bestPeer = summary.best(peers, { ...place, measure: first })?.name;
  const columns = [
    column(first, (spot) => cell(summary, spot, true)),
    ...(names.includes("raw ioredis") ? [ratioColumn("raw ioredis")] : []),
    ...(bestPeer ? [ratioColumn(bestPeer)] : []),
    ...others.map((measure) => column(measure, (spot) => cell(summary, spot, false))),
  ];
  const rows = names.map((contender) => [
    nameText(contender),
    ...columns.map(({ textOf }) => textOf({ ...place, contender })),
  ]);
  const filled = columns.map((_, index) => rows.some((row) => row[index + 1] !== nothing));
  const keep = <T>(cells: readonly T[]): T[] => cells.filter((_, index) => index === 0 || filled[index - 1]);
  const table = tableText(keep(["", ...columns.map(({ title }) => title)]), rows.map(keep));
  const errors = names.flatMap((contender) => errorText(contender, summary.errors({ ...place, contender })));
  return errors.length === 0 ? table : `${table}\n\n${errors.join("\n")}`;

  function ratioColumn(to: string): Column {
    return {
      title: `÷ ${to}`,
      textOf(where) {
        const spot = { ...where, measure: first };
        const ratio = summary.ratio(spot, { ...spot, contender: to });
        return ratio === undefined ? nothing : ratioText(ratio.median);
      },
    };
  }
}

interface Column {
  readonly title: string;
  textOf(where: Omit<Spot, "measure">): string;
}

function column(measure: MeasureName, textOf: (spot: Spot) => string): Column {
  return { title: measureNamed(measure).title, textOf: (where) => textOf({ ...where, measure }) };
}

/** One row for each contender, one column for each case. */
function curveTable(workload: Workload, cases: readonly Case[], measure: MeasureName, summary: Summary): string {
  const rows = workload.contenders.flatMap(({ name: contender }) => {
    const cells = cases.map((one) => cell(summary, { ...placeOf(workload, one), contender, measure }, false));
    return cells.every((text) => text === nothing) ? [] : [[nameText(contender), ...cells]];
  });
  const over = workload.layout === "tables" ? "" : workload.layout.curveOver;
  return tableText([`${measureNamed(measure).title}, by ${over}`, ...cases.map(({ name }) => name)], rows);
}

function cell(summary: Summary, spot: Spot, withQuartiles: boolean): string {
  const found = summary.of(spot);
  if (found === undefined) return nothing;
  const { median } = found;
  return quartilesText(withQuartiles ? found : { low: median, median, high: median }, measureNamed(spot.measure));
}

/** Ours stand out. */
function nameText(name: string): string {
  return contenderNamed(name).role === "ours" ? `**${name}**` : name;
}

/** What went wrong, each thing once, with how often it did. */
function errorText(contender: string, errors: readonly string[]): string[] {
  return [...new Set(errors)].map((error) => {
    const times = errors.filter((other) => other === error).length;
    return `- ${contender}, ${times} ${times === 1 ? "turn" : "turns"}: ${error}`;
  });
}

function meanings(measured: readonly Workload[]): string {
  const names = [...new Set(measured.flatMap(({ columns }) => columns))];
  const rows = names.map((name) => [measureNamed(name).title, measureNamed(name).meaning]);
  return `## What the columns mean\n\n${tableText(["column", "meaning"], rows, "text")}`;
}
