/** Panels of bars: one row for each name, with its value and its range. */
import { type Coloring, type Face, path, rect, svgOf, textAt, widthOf } from "./svg.ts";
import { type Format, valueText } from "./values.ts";

/** What a row stands for: this project, another one, or a reference to compare both with; or nothing of these. */
export type Kind = "own" | "other" | "reference" | "plain";

/** A row of a panel. */
export interface BarRow {
  readonly name: string;
  readonly kind: Kind;
  /** The lower quartile, the median and the upper quartile; undefined if nothing was measured. */
  readonly range: readonly [low: number, median: number, high: number] | undefined;
  /** Shown behind the name. */
  readonly note: string;
}

/** A panel: rows on one scale. */
export interface BarPanel {
  readonly title: string;
  readonly format: Format;
  readonly rows: readonly BarRow[];
}

/** The width of a panel, in pixels. It fits on a phone, and two beside each other fit in a column of text. */
const panelWidth = 304;
/** The height of a row, with its name above its bar. */
const rowHeight = 34;
const headHeight = 24;
const titleHeight = 34;
const gap = 8;

/** Draws panels, two beside each other, between a title and a key. */
export function barsSvg(title: string, panels: readonly BarPanel[], key = ""): string {
  const columns = Math.min(2, panels.length);
  const height = Math.max(0, ...panels.map(panelHeight)) + 2 * gap;
  const width = panelWidth + 2 * gap;
  const keyTop = titleHeight + Math.ceil(panels.length / columns) * height;
  const drawn = panels.flatMap((panel, index) =>
    panelOf(panel, (index % columns) * width + gap, titleHeight + Math.floor(index / columns) * height),
  );
  return svgOf(columns * width, keyTop + (key === "" ? 0 : 22), [
    textAt(title, gap, 15, { size: 14, face: "bold" }),
    ...drawn,
    ...(key === "" ? [] : [textAt(key, gap, keyTop + 8, { fill: "muted" })]),
  ]);
}

/** Draws one panel, as a part of a page. */
export function panelSvg(panel: BarPanel, coloring: Coloring): string {
  return svgOf(panelWidth, panelHeight(panel), panelOf(panel, 0, 0), coloring);
}

/** Says what a panel shows, in a sentence. */
export function panelText({ title, format, rows }: BarPanel): string {
  return `${title}: ${rows.map(({ name, range }) => `${name} ${textOf(range, format)}`).join(", ")}.`;
}

/** Writes a range: its median, and its ends where they differ. */
export function textOf(range: BarRow["range"], format: Format): string {
  if (range === undefined) return "–";
  const [low, median, high] = range.map((value) => valueText(value, format));
  return low === median && high === median ? `${median}` : `${median} (${low} – ${high})`;
}

function panelHeight({ rows }: BarPanel): number {
  return headHeight + rows.length * rowHeight + 4;
}

/** Draws a panel, whose upper left corner is at this point. */
function panelOf({ title, format, rows }: BarPanel, left: number, top: number): string[] {
  const most = Math.max(...rows.map(({ range }) => range?.[2] ?? 0)) || 1;
  const texts = rows.map(({ range }) => (range === undefined ? "–" : valueText(range[1], format)));
  const valuesWidth = Math.max(0, ...texts.map((text, row) => widthOf(text, faceOf(rows[row] as BarRow)))) + gap;
  const xOf = (value: number): number => left + (value / most) * (panelWidth - valuesWidth);
  return [
    textAt(title, left, top + 9, { size: 12, face: "bold" }),
    ...rows.flatMap((row, index) => {
      const middle = top + headHeight + (index + 0.5) * rowHeight;
      const [low, median, high] = (row.range ?? [0, 0, 0]).map(xOf) as [number, number, number];
      const y = middle + 7;
      const face = faceOf(row);
      return [
        textAt(row.name, left, middle - 8, { face }),
        ...(row.note === ""
          ? []
          : [textAt(row.note, left + panelWidth - gap, middle - 8, { size: 10, fill: "muted", anchor: "end" })]),
        ...(median > left ? [rect(left, y - 5, median - left, 10, row.kind)] : []),
        ...(high - low >= 1 ? [rangeAt(low, high, y)] : []),
        textAt(texts[index] as string, high + 5, y, { face }),
      ];
    }),
  ];
}

/** A line with ends across it. */
function rangeAt(low: number, high: number, y: number): string {
  return path(
    [
      [low, y - 3],
      [low, y + 3],
      [low, y],
      [high, y],
      [high, y - 3],
      [high, y + 3],
    ],
    "ink",
  );
}

function faceOf({ kind }: Pick<BarRow, "kind">): Face {
  return kind === "own" ? "bold" : kind === "reference" ? "italic" : "normal";
}
