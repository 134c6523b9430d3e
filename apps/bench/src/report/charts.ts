import { svgOf } from "@holdfast/app-kit/chart";
import { type Contender, overSeveralServers, type Promises } from "../contenders/contender.ts";
import { librariesAndRaw } from "../contenders/index.ts";
import { uncontended } from "../workloads/uncontended.ts";
import { type Cell, countOf } from "../workloads/workload.ts";
import { cellName, measuredCells } from "./cells.ts";
import { groupBy, type Summary } from "./summary.ts";

/** A chart in a file. */
export interface Chart {
  readonly file: string;
  readonly title: string;
  /** Draws it as SVG. */
  draw(): string;
}

/** The promises that the charts mark, and their titles. */
export const promiseTitles = [
  ["fencingToken", "fencing token", "token"],
  ["checkedValidity", "checked validity", "validity"],
  ["waitingWithoutPolling", "waits without polling", "no polling"],
  ["extension", "automatic extension", "extends"],
] as const satisfies readonly (readonly [keyof Promises, string, string])[];

const nameWidth = 190;
const markWidth = 56;
const panelWidth = 145;
const panelLeft = nameWidth + markWidth * promiseTitles.length + 8;
const top = 58;
const rowHeight = 22;
const colors = { holdfast: "#1d4ed8", peer: "#94a3b8", reference: "#0f766e" };
const font = "12px Helvetica, Arial, sans-serif";
const ink = "#334155";

/** Makes a chart for each number of servers: pairs a second by library, with a panel for each number of locks at a time. */
export function chartsOf(summary: Summary): Chart[] {
  const measured = measuredCells(uncontended, summary);
  return [...groupBy(measured, ({ servers }) => servers)].map(([servers, cells]) => {
    const title = `Pairs of acquire and release in a second, ${countOf(servers, "server")}`;
    const contenders = librariesAndRaw.filter((one) => cells.some((cell) => median(one, cell) !== undefined));
    const panels = cells.map((cell) => ({
      title: `${cell.atATime.toLocaleString("en")} at a time`,
      values: contenders.map((contender) => median(contender, cell)),
    }));
    return { title, file: `charts/${servers}-servers.svg`, draw: () => draw(title, servers, contenders, panels) };
  });

  function median({ name }: Contender, cell: Cell): number | undefined {
    return summary.value(cellName(uncontended, cell), name, "pairsPerSecond")?.median;
  }
}

interface Panel {
  readonly title: string;
  /** One for each contender. */
  readonly values: readonly (number | undefined)[];
}

function draw(title: string, servers: number, contenders: readonly Contender[], panels: readonly Panel[]): string {
  const grid = panels.map((_, index) => ({
    ...{ left: panelLeft + index * panelWidth, width: panelWidth - 56, top, height: contenders.length * rowHeight },
  }));
  return svgOf(panelLeft + panels.length * panelWidth, top + contenders.length * rowHeight + 10, {
    grid,
    graphic: [
      text(title, 8, 10, "bold 14px Helvetica, Arial, sans-serif"),
      ...names(contenders, servers),
      ...heads(panels),
    ],
    xAxis: panels.map((_, gridIndex) => ({ gridIndex, type: "value", show: false })),
    yAxis: panels.map((_, gridIndex) => ({
      gridIndex,
      type: "category",
      inverse: true,
      show: false,
      data: contenders.map(({ name }) => name),
    })),
    series: panels.map(({ values }, index) => ({
      ...{ type: "bar", xAxisIndex: index, yAxisIndex: index, barWidth: 12 },
      data: contenders.map(({ role }, row) => ({ value: values[row] ?? "-", itemStyle: { color: colors[role] } })),
      label: {
        ...{ show: true, position: "right", color: ink, fontSize: 11 },
        formatter: ({ value }: { value: unknown }) => Math.round(Number(value)).toLocaleString("en"),
      },
    })),
  });
}

function names(contenders: readonly Contender[], servers: number): object[] {
  return contenders.flatMap(({ name, promises }, row) => {
    const y = top + row * rowHeight + 5;
    const marks = promiseTitles.flatMap(([promise], column) =>
      promises?.[promise] === undefined || (servers === 1 && promises[promise] === overSeveralServers)
        ? []
        : [text("●", nameWidth + column * markWidth + 14, y)],
    );
    return [text(name, 8, y), ...marks];
  });
}

function heads(panels: readonly Panel[]): object[] {
  const y = top - 20;
  return [
    ...promiseTitles.map(([, , short], column) =>
      text(short, nameWidth + column * markWidth, y, "11px Helvetica, Arial, sans-serif"),
    ),
    ...panels.map((panel, index) => text(panel.title, panelLeft + index * panelWidth, y)),
  ];
}

function text(value: string, left: number, y: number, style = font): object {
  return { type: "text", left, top: y, silent: true, style: { text: value, font: style, fill: ink } };
}
