import { init } from "echarts/dist/echarts.esm.min.mjs";
import { contenderNamed } from "../contenders/index.ts";
import { type MeasureName, measureNamed } from "../measure/measures.ts";
import type { Workload } from "../workloads/workload.ts";
import type { Summary } from "./summary.ts";
import { valueText } from "./text.ts";

/** A chart in a file. */
export interface Picture {
  readonly file: string;
  readonly title: string;
  /** SVG. */
  draw(): string;
}

const width = 860;
/** About what a letter takes; the renderer cannot measure text without a browser. */
const letterWidth = 7.4;
const colors = { ours: "#1d4ed8", peer: "#94a3b8", raw: "#0f766e", floor: "#a16207" };
/** For curves, in the order of the contenders: ours are blue. */
const palette = [
  ...["#1d4ed8", "#3b82f6", "#93c5fd", "#dc2626", "#ea580c", "#d97706", "#7c3aed"],
  ...["#db2777", "#f472b6", "#0f766e", "#34d399", "#78350f", "#a3a3a3"],
];
const legendWidth = 232;
const ink = "#334155";
const textStyle = { fontFamily: "Helvetica, Arial, sans-serif", fontSize: 12, color: ink };

/** Bars of each case that the targets rest on; or a curve for each contender, one chart for each measure. */
export function picturesOf(workload: Workload, summary: Summary): Picture[] {
  if (workload.layout !== "tables") {
    const shown = workload.columns.filter((measure) => measureNamed(measure).over === "median");
    return shown.map((measure) => curves(workload, measure, summary));
  }
  return workload.cases.flatMap((one) => {
    const [measure] = workload.columns;
    if (!one.isQuick || measure === undefined) return [];
    const at = { workload: workload.name, case: one.name, measure };
    const bars = summary.ranked(at).flatMap(({ name }) => {
      const value = summary.of({ ...at, contender: name })?.median;
      return value === undefined ? [] : [{ name, value }];
    });
    const title = `${workload.title}: ${one.name}, ${measureNamed(measure).title}`;
    return bars.length < 2
      ? []
      : [{ file: fileOf(workload, one.name), title, draw: () => barChart(title, bars, measure) }];
  });
}

function barChart(title: string, bars: readonly { name: string; value: number }[], measure: MeasureName): string {
  const nameWidth = letterWidth * Math.max(...bars.map(({ name }) => name.length));
  return render(80 + 24 * bars.length, {
    title: { text: title, left: 8, top: 6, textStyle: { ...textStyle, fontSize: 14 } },
    grid: { left: 16 + nameWidth, right: 90, top: 40, bottom: 30 },
    xAxis: {
      type: "value",
      splitLine: { lineStyle: { color: "#e2e8f0" } },
      axisLabel: { ...textStyle, hideOverlap: true },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: bars.map(({ name }) => name),
      axisLabel: { ...textStyle, interval: 0 },
      axisTick: { show: false },
    },
    series: [
      {
        type: "bar",
        barWidth: 14,
        data: bars.map(({ name, value }) => ({ value, itemStyle: { color: colors[contenderNamed(name).role] } })),
        label: {
          ...{ show: true, position: "right", ...textStyle },
          formatter: ({ value }: { value: unknown }) => valueText(Number(value), measureNamed(measure)),
        },
      },
    ],
  });
}

function curves(workload: Workload, measure: MeasureName, summary: Summary): Picture {
  const over = workload.layout === "tables" ? "" : workload.layout.curveOver;
  const title = `${workload.title}: ${measureNamed(measure).title} by ${over}`;
  const untuned = workload.contenders.filter(({ settings }) => settings.waiting === "default");
  const lines = untuned.map(({ name, role }, index) => ({
    ...{ type: "line", name, symbolSize: 5, color: palette[index % palette.length] },
    lineStyle: { width: role === "ours" ? 3 : 1.5, type: role === "peer" ? "dashed" : "solid" },
    data: workload.cases.map((one) => {
      const value = summary.of({ workload: workload.name, case: one.name, contender: name, measure })?.median;
      return value === undefined || value <= 0 ? null : value; // the axis has no zero
    }),
  }));
  const draw = (): string =>
    render(420, {
      title: { text: title, left: 8, top: 6, textStyle: { ...textStyle, fontSize: 14 } },
      legend: { orient: "vertical", left: width - legendWidth, top: 40, itemWidth: 24, textStyle },
      grid: { left: 64, right: legendWidth + 24, top: 44, bottom: 48 },
      xAxis: {
        ...{ type: "category", data: workload.cases.map(({ name }) => name), axisLabel: textStyle },
        ...{ name: over, nameLocation: "middle", nameGap: 26, nameTextStyle: textStyle },
      },
      yAxis: { type: "log", splitLine: { lineStyle: { color: "#e2e8f0" } }, axisLabel: textStyle },
      series: lines.filter(({ data }) => data.some((value) => value !== null)),
    });
  return { file: fileOf(workload, measureNamed(measure).title), title, draw };
}

function render(height: number, option: object): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption({ animation: false, backgroundColor: "#ffffff", textStyle, ...option });
    return `${chart.renderToSVGString()}\n`;
  } finally {
    chart.dispose();
  }
}

function fileOf({ name }: Workload, part: string): string {
  return `charts/${name}-${part
    .toLowerCase()
    .replace(/×/g, "x")
    .replace(/[^a-z0-9]+/g, "-")}.svg`;
}
