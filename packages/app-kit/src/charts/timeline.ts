/** Lanes over time, with bars and marks on them. */
import { type Color, type Coloring, path, rect, svgOf, textAt, widthOf } from "./svg.ts";

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

/** A timeline. */
export interface Timeline {
  readonly lanes: readonly string[];
  readonly lastsMs: number;
  readonly bars: readonly TimelineBars[];
  readonly marks?: readonly TimelineMarks[];
}

const top = 8;
const right = 14;
const laneHeight = 24;
const axisHeight = 26;
const legendRowHeight = 18;
const heights = { full: 20, usual: 16, low: 12, line: 2 } as const;

/** A timeline on its way to a picture. */
interface Canvas extends Timeline {
  readonly width: number;
  xOf(ms: number): number;
  yOf(lane: string): number;
}

/** Draws a timeline, as wide as wanted. */
export function timelineSvg(timeline: Timeline, width: number, coloring?: Coloring): string {
  const { lanes, lastsMs, bars, marks = [] } = timeline;
  const left = Math.max(24, ...lanes.map((lane) => widthOf(lane))) + 10;
  const canvas: Canvas = {
    ...{ ...timeline, width },
    xOf: (ms) => left + (ms / lastsMs) * (width - left - right),
    yOf: (lane) => top + (lanes.indexOf(lane) + 0.5) * laneHeight,
  };
  const bottom = top + lanes.length * laneHeight;
  const legend = legendOf(timeline, width, bottom + axisHeight);
  const lane = (name: string, index: number): string[] => [
    ...(index % 2 === 1 ? [rect(left, top + index * laneHeight, width - left - right, laneHeight, "band")] : []),
    textAt(name, left - 8, canvas.yOf(name), { anchor: "end" }),
  ];
  return svgOf(
    width,
    legend.bottom,
    [
      ...lanes.flatMap(lane),
      ...axis(canvas, bottom),
      ...bars.flatMap((some) => some.bars.flatMap((bar) => barAt(bar, some, canvas))),
      ...marks.flatMap((some) =>
        some.marks.map((mark) => {
          const [x, y] = [canvas.xOf(mark.atMs) + offsets[some.symbol], canvas.yOf(mark.lane)];
          return symbolAt(some, x - markSize / 2, y - markSize / 2, "surface");
        }),
      ),
      ...legend.entries,
    ],
    coloring,
  );
}

/** Lines and labels at round times: at most five steps on a narrow picture, and eleven on a wide one. */
function axis({ lastsMs, width, xOf }: Canvas, bottom: number): string[] {
  const least = lastsMs / (width > 600 ? 11 : 5);
  const power = 10 ** Math.floor(Math.log10(least));
  const stepMs = power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
  return Array.from({ length: Math.floor(lastsMs / stepMs) + 1 }, (_, index) => index * stepMs).flatMap((ms) => {
    const x = xOf(ms);
    const label =
      ms > lastsMs * 0.97 ? [] : [textAt(`${ms / 1_000} s`, x, bottom + 14, { fill: "muted", anchor: "middle" })];
    return [
      path(
        [
          [x, top],
          [x, bottom],
        ],
        "grid",
      ),
      ...label,
    ];
  });
}

/** Lays out a legend, in as many rows as it needs. */
function legendOf({ bars, marks = [] }: Timeline, width: number, legendTop: number) {
  const symbols = new Map<string, (x: number, y: number) => string>([
    ...bars
      .filter((some) => some.bars.length > 0)
      .map((some) => [some.name, (x: number, y: number) => rect(x, y - 5, 12, 10, some.color)] as const),
    ...marks
      .filter((some) => some.marks.length > 0)
      .map((some) => [some.name, (x: number, y: number) => symbolAt(some, x, y - markSize / 2, some.color)] as const),
  ]);
  let x = 4;
  let y = legendTop + legendRowHeight / 2;
  const entries = [...symbols].flatMap(([name, symbol]) => {
    const needed = widthOf(name) + 32;
    if (x > 4 && x + needed > width) {
      x = 4;
      y += legendRowHeight;
    }
    const entry = [symbol(x, y), textAt(name, x + 18, y)];
    x += needed;
    return entry;
  });
  return { entries, bottom: y + legendRowHeight / 2 + 4 };
}

const darkBars: readonly Color[] = ["held", "twice"];

function barAt(bar: TimelineBar, { bars, labels, ...style }: TimelineBars, canvas: Canvas): string[] {
  const { lane, fromMs, toMs, label = "" } = bar;
  const { width, xOf, yOf, marks = [] } = canvas;
  const height = heights[style.height];
  const [x, y] = [xOf(fromMs), yOf(lane)];
  const length = Math.max(xOf(toMs) - x, 2);
  const labelWidth = widthOf(label) + 6;
  const isInside = labels !== "beside" && labelWidth <= length;
  const isNear = (ms: number): boolean => Math.abs(xOf(ms) - x - length) < 2 * markSize;
  const isMarked = marks.some((some) => some.marks.some((mark) => mark.lane === lane && isNear(mark.atMs)));
  const after = x + length + (isMarked ? 2.5 * markSize : 4);
  const isAtEnd = after + labelWidth > width;
  const labelX = isInside ? x + 4 : isAtEnd ? x - labelWidth : after;
  const others = bars.filter((other) => other.lane === lane && other !== bar);
  const isFree = others.every(
    (other) =>
      xOf(other.fromMs) >= labelX + labelWidth ||
      xOf(other.toMs) + (isAtEnd ? widthOf(other.label ?? "") + 10 : 0) <= labelX ||
      (!isAtEnd && other.fromMs < fromMs),
  );
  const fill = isInside && darkBars.includes(style.color) ? "on-bar" : "ink";
  const isShown = label !== "" && (isInside || (isFree && labels !== undefined));
  const drawn = rect(x, y - height / 2, length, height, style.color);
  return isShown ? [drawn, textAt(label, labelX, y, { fill })] : [drawn];
}

const markSize = 12;
const offsets = { cross: -8, diamond: 8 } as const;

/** The corners of symbols, from their upper left corners. */
const corners = {
  cross: [0, 2, 2, 0, 6, 4, 10, 0, 12, 2, 8, 6, 12, 10, 10, 12, 6, 8, 2, 12, 0, 10, 4, 6],
  diamond: [6, 0, 12, 6, 6, 12, 0, 6],
} as const;

function symbolAt(mark: Pick<TimelineMarks, "symbol" | "color">, x: number, y: number, stroke: Color): string {
  const numbers: readonly number[] = corners[mark.symbol];
  const points = numbers.flatMap((dx, index) =>
    index % 2 === 0 ? [[x + dx, y + (numbers[index + 1] ?? 0)] as const] : [],
  );
  return path(points, stroke, mark.color);
}
