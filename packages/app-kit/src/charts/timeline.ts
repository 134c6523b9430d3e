/** Lanes over time, with bars and marks on them, and curves below. */
import { type Color, type Coloring, color, type DrawingApi, font, rect, svgOf, textAt, widthOf } from "./svg.ts";

/** A bar on a lane. */
export interface TimelineBar {
  readonly lane: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly label?: string | undefined;
}

/** Bars of one kind. */
export interface TimelineBars {
  readonly name: string;
  readonly color: Color;
  readonly height: "full" | "usual" | "low" | "line";
  /** Where labels are if a bar is too short for its own: beside it, or nowhere. `"beside"`: never inside. */
  readonly labels?: "beside" | "inside or beside";
  readonly bars: readonly TimelineBar[];
}

/** Moments of one kind on lanes. */
export interface TimelineMarks {
  readonly name: string;
  readonly color: Color;
  readonly symbol: "cross" | "diamond";
  readonly marks: readonly { readonly lane: string; readonly atMs: number }[];
}

/** Counts in intervals of equal length, on top of each other. */
export interface TimelineCurves {
  readonly title: string;
  readonly intervalMs: number;
  readonly curves: readonly { readonly name: string; readonly color: Color; readonly counts: readonly number[] }[];
}

/** A timeline. */
export interface Timeline {
  readonly lanes: readonly string[];
  readonly lastsMs: number;
  readonly bars: readonly TimelineBars[];
  readonly marks?: readonly TimelineMarks[];
  readonly curves?: TimelineCurves;
}

const top = 8;
const right = 14;
const laneHeight = 24;
const axisHeight = 26;
const curvesGap = 34;
const curvesHeight = 120;
const legendRowHeight = 18;
const heights = { full: 20, usual: 16, low: 12, line: 2 } as const;

/** Draws a timeline, as wide as wanted. */
export function timelineSvg(timeline: Timeline, width: number, coloring?: Coloring): string {
  const { lanes, lastsMs, curves, bars, marks = [] } = timeline;
  const left = Math.max(24, ...lanes.map((lane) => widthOf(lane))) + 10;
  const lanesHeight = lanes.length * laneHeight;
  const belowLanes = curves ? curvesGap + curvesHeight : 0;
  const legend = legendOf(timeline, width, top + lanesHeight + belowLanes + axisHeight);
  const place = { left, right, outerBoundsMode: "none" };
  return svgOf(
    width,
    legend.bottom,
    {
      grid: [
        { ...place, top, height: lanesHeight },
        ...(curves ? [{ ...place, top: top + lanesHeight + curvesGap, height: curvesHeight }] : []),
      ],
      graphic: legend.entries,
      xAxis: (curves ? [0, 1] : [0]).map((gridIndex) => timeAxis(gridIndex, lastsMs, width, curves, gridIndex === 0)),
      yAxis: [laneAxis(lanes), ...(curves ? [countAxis(curves.title)] : [])],
      series: [
        ...bars.map((some) => barSeries(some, timeline, width)),
        ...marks.map(markSeries),
        ...(curves ? curveSeries(curves) : []),
      ],
    },
    coloring,
  );
}

/** Lays out a legend, in as many rows as it needs. */
function legendOf({ bars, marks = [], curves }: Timeline, width: number, legendTop: number) {
  const box = (fill: Color): object => rect(0, -5, 12, 10, fill);
  const symbols = new Map<string, object>([
    ...bars.filter(({ bars }) => bars.length > 0).map(({ name, ...bar }) => [name, box(bar.color)] as const),
    ...marks
      .filter(({ marks }) => marks.length > 0)
      .map(({ name, symbol, ...mark }) => [name, legendMark(symbol, mark.color)] as const),
    ...(curves?.curves ?? []).map(({ name, ...curve }) => [name, box(curve.color)] as const),
  ]);
  let x = 4;
  let y = legendTop + legendRowHeight / 2;
  const entries = [...symbols].map(([name, symbol]) => {
    const needed = widthOf(name) + 32;
    if (x > 4 && x + needed > width) {
      x = 4;
      y += legendRowHeight;
    }
    const entry = { ...{ type: "group", x, y, silent: true }, children: [symbol, textAt(name, 18, 0)] };
    x += needed;
    return entry;
  });
  return { entries, bottom: y + legendRowHeight / 2 + 4 };
}

const shapes = {
  cross: [0, 2, 2, 0, 6, 4, 10, 0, 12, 2, 8, 6, 12, 10, 10, 12, 6, 8, 2, 12, 0, 10, 4, 6],
  diamond: [6, 0, 12, 6, 6, 12, 0, 6],
} as const;

function legendMark(symbol: keyof typeof shapes, name: Color): object {
  const points = pointsOf(symbol).map(([x, y]) => [x, y - 6]);
  return { type: "polygon", shape: { points }, style: { fill: color(name) } };
}

function pointsOf(symbol: keyof typeof shapes): [number, number][] {
  const numbers = shapes[symbol];
  return numbers.flatMap((x, index) => (index % 2 === 0 ? [[x, numbers[index + 1] ?? 0] as [number, number]] : []));
}

const lines = { lineStyle: { color: color("grid") } };
const text = { fontSize: 11, color: color("muted"), fontFamily: font };

function timeAxis(gridIndex: number, lastsMs: number, width: number, curves: unknown, isFirst: boolean): object {
  return {
    ...{ gridIndex, type: "value", min: 0, max: lastsMs, splitNumber: width > 600 ? 10 : 4 },
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: true, ...lines },
    axisLabel: {
      ...text,
      show: !(curves && isFirst),
      formatter: (ms: number) => (ms > lastsMs * 0.97 ? "" : `${ms / 1_000} s`),
    },
  };
}

function laneAxis(lanes: readonly string[]): object {
  return {
    ...{ type: "category", data: lanes, inverse: true, axisLine: { show: false }, axisTick: { show: false } },
    axisLabel: { ...text, color: color("ink") },
    splitArea: { show: true, areaStyle: { color: [color("band"), "transparent"] } },
  };
}

function countAxis(name: string): object {
  return {
    ...{ type: "value", gridIndex: 1, name, splitNumber: 3, axisLabel: text, splitLine: lines },
    ...{ axisLine: { show: false }, axisTick: { show: false } },
    nameTextStyle: { ...text, align: "left" },
  };
}

const darkBars: readonly Color[] = ["held", "twice", "step"];

function barSeries(
  { name, bars, labels, ...style }: TimelineBars,
  { lanes, marks = [] }: Timeline,
  width: number,
): object {
  const height = heights[style.height];
  return {
    ...{ name, type: "custom", silent: true, color: color(style.color), encode: { x: [1, 2], y: 0 } },
    data: bars.map(({ lane, fromMs, toMs }) => [lanes.indexOf(lane), fromMs, toMs]),
    renderItem({ dataIndex }: { dataIndex: number }, api: DrawingApi) {
      const { lane, fromMs, toMs, label = "" } = bars[dataIndex] as TimelineBar;
      const [x, y] = api.coord([fromMs, lanes.indexOf(lane)]);
      const length = Math.max(api.coord([toMs, 0])[0] - x, 2);
      const labelWidth = widthOf(label) + 6;
      const isInside = labels !== "beside" && labelWidth <= length;
      const timeX = (ms: number): number => api.coord([ms, 0])[0];
      const isNear = (ms: number): boolean => Math.abs(timeX(ms) - x - length) < 2 * markSize;
      const isMarked = marks.some((some) => some.marks.some((mark) => mark.lane === lane && isNear(mark.atMs)));
      const after = x + length + (isMarked ? 2.5 * markSize : 4);
      const isAtEnd = after + labelWidth > width;
      const labelX = isInside ? x + 4 : isAtEnd ? x - labelWidth : after;
      const others = bars.filter((bar) => bar.lane === lane && bar !== bars[dataIndex]);
      const isFree = others.every(
        (other) =>
          timeX(other.fromMs) >= labelX + labelWidth ||
          timeX(other.toMs) + (isAtEnd ? widthOf(other.label ?? "") + 10 : 0) <= labelX ||
          (!isAtEnd && other.fromMs < fromMs),
      );
      const fill = color(isInside && darkBars.includes(style.color) ? "on-bar" : "ink");
      const bar = rect(x, y - height / 2, length, height, style.color);
      const isShown = label !== "" && (isInside || isFree) && (isInside || labels !== undefined);
      return { type: "group", children: isShown ? [bar, textAt(label, labelX, y, { fill })] : [bar] };
    },
  };
}

const markSize = 12;
const offsets = { cross: -8, diamond: 8 } as const;

function markSeries({ name, marks, symbol, ...style }: TimelineMarks): object {
  return {
    ...{
      name,
      type: "scatter",
      silent: true,
      symbolSize: markSize,
      z: 5,
      symbol: `path://M${pointsOf(symbol).join("L")}Z`,
    },
    symbolOffset: [offsets[symbol], 0],
    color: color(style.color),
    itemStyle: { color: color(style.color), borderColor: color("surface"), borderWidth: 1, opacity: 1 },
    data: marks.map(({ atMs, lane }) => [atMs, lane]),
  };
}

function curveSeries({ intervalMs, curves }: TimelineCurves): object[] {
  return curves.map(({ name, counts, ...style }) => ({
    ...{ name, type: "line", silent: true, stack: "counts", symbol: "none", lineStyle: { width: 0 } },
    ...{ xAxisIndex: 1, yAxisIndex: 1, color: color(style.color), areaStyle: { opacity: 1 } },
    data: counts.map((count, index) => [(index + 0.5) * intervalMs, count]),
  }));
}
