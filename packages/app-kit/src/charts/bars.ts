/** Panels of bars: one row for each name, with its value and its range. */
import { type Color, type Coloring, color, type DrawingApi, font, rect, svgOf, textAt, widthOf } from "./svg.ts";
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
  /** The value at the right end. Default: the largest one. */
  readonly max?: number | undefined;
  /** The colour of the bars. Default: that of their kind. */
  readonly color?: Color | undefined;
  readonly rows: readonly BarRow[];
}

/** The width of a panel, in pixels. It fits on a phone, and two beside each other fit in a column of text. */
const panelWidth = 304;

/** The height of a row, with its name beside its bar or above it. */
const rowHeights = { beside: 20, above: 34 };
const headHeight = 24;
const titleHeight = 34;
const gap = 8;

/** Draws panels, two beside each other, between a title and a key. */
export function barsSvg(title: string, panels: readonly BarPanel[], key = ""): string {
  const columns = Math.min(2, panels.length);
  const rows = Math.ceil(panels.length / columns);
  const height = Math.max(0, ...panels.map(panelHeight));
  const keyTop = titleHeight + rows * (height + 2 * gap);
  const option = optionOf(panels, (index) => ({
    left: (index % columns) * (panelWidth + 2 * gap) + gap,
    top: titleHeight + Math.floor(index / columns) * (height + 2 * gap),
  }));
  const text = (value: string, top: number, style: string, fill: Color): object => ({
    ...{ type: "text", left: gap, top, silent: true, style: { text: value, font: style, fill: color(fill) } },
  });
  return svgOf(columns * (panelWidth + 2 * gap), keyTop + (key === "" ? 0 : 22), {
    ...option,
    graphic: [
      ...option.graphic,
      text(title, 8, `bold 14px ${font}`, "ink"),
      ...(key === "" ? [] : [text(key, keyTop + 2, `11px ${font}`, "muted")]),
    ],
  });
}

/** Draws one panel, as a part of a page. */
export function panelSvg(panel: BarPanel, coloring: Coloring): string {
  return svgOf(
    panelWidth,
    panelHeight(panel),
    optionOf([panel], () => ({ left: 0, top: 0 })),
    coloring,
  );
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

function panelHeight(panel: BarPanel): number {
  return headHeight + panel.rows.length * layoutOf(panel).rowHeight + 4;
}

function optionOf(panels: readonly BarPanel[], placeOf: (index: number) => { left: number; top: number }) {
  const places = panels.map((panel, index) => ({ panel, layout: layoutOf(panel), ...placeOf(index) }));
  return {
    graphic: places.map(({ panel, left, top }) => ({
      ...{ type: "text", left, top: top + 3, silent: true },
      style: { text: panel.title, font: `bold 12px ${font}`, fill: color("ink") },
    })),
    grid: places.map(({ panel, layout, left, top }) => ({
      ...{ outerBoundsMode: "none", left: left + layout.namesWidth, top: top + headHeight },
      width: panelWidth - layout.namesWidth - layout.valuesWidth,
      height: panel.rows.length * layout.rowHeight,
    })),
    xAxis: panels.map(({ rows, max }, gridIndex) => ({
      ...{ gridIndex, type: "value", show: false, min: 0 },
      max: max ?? (Math.max(...rows.map(({ range }) => range?.[2] ?? 0)) || 1),
    })),
    yAxis: panels.map(({ rows }, gridIndex) => ({
      ...{ gridIndex, type: "category", inverse: true, show: false, data: rows.map(({ name }) => name) },
    })),
    series: places.map(({ panel, layout, left }, index) => ({
      ...{ type: "custom", silent: true, xAxisIndex: index, yAxisIndex: index },
      encode: { x: 0, y: 1 },
      data: panel.rows.map(({ range }, row) => [range?.[1] ?? 0, row]),
      renderItem: ({ dataIndex }: { dataIndex: number }, api: DrawingApi) =>
        rowOf(panel.rows[dataIndex] as BarRow, panel, layout, left, (value) => api.coord([value, dataIndex])),
    })),
  };
}

type Layout = ReturnType<typeof layoutOf>;

/** Names are beside the bars where they are short, or else above them. */
function layoutOf({ rows, format }: BarPanel) {
  const namesWidth = Math.max(0, ...rows.map(({ name, kind }) => widthOf(name, weightOf(kind)))) + gap;
  const values = rows.map(({ range, kind }) => widthOf(range ? valueText(range[1], format) : "–", weightOf(kind)));
  const names: keyof typeof rowHeights = namesWidth < 0.45 * panelWidth ? "beside" : "above";
  return {
    names,
    namesWidth: names === "beside" ? namesWidth : 0,
    valuesWidth: Math.max(0, ...values) + gap,
    rowHeight: rowHeights[names],
  };
}

function weightOf(kind: Kind): "normal" | "bold" {
  return kind === "own" ? "bold" : "normal";
}

/** Draws a row: name, note, bar, range and value. */
function rowOf(
  { name, kind, range, note }: BarRow,
  { format, color: barColor = kind }: BarPanel,
  { names, rowHeight }: Layout,
  left: number,
  at: (value: number) => [number, number],
): object {
  const [startX, middle] = at(0);
  const y = names === "beside" ? middle : middle + 7;
  const nameY = names === "beside" ? middle : middle - 8;
  const style = { font: `${kind === "reference" ? "italic" : weightOf(kind)} 11px ${font}` };
  const path = (pathData: string, stroke: Color): object => ({
    ...{ type: "path", shape: { pathData }, style: { stroke: color(stroke), fill: "none" } },
  });
  const [lowX, medianX, highX] = (range ?? [0, 0, 0]).map((value) => at(value)[0]) as [number, number, number];
  const ends = [lowX, highX].map((x) => `M${x} ${y - 3}L${x} ${y + 3}`).join("");
  const noteStyle = { align: "right", font: `10px ${font}`, fill: color("muted") };
  return {
    type: "group",
    children: [
      textAt(name, left, nameY, style),
      ...(note === "" ? [] : [textAt(note, left + panelWidth - gap, nameY, noteStyle)]),
      ...(medianX > startX ? [rect(startX, y - 5, medianX - startX, 10, barColor)] : []),
      ...(names === "beside" ? [path(`M${startX} ${y - rowHeight / 2}L${startX} ${y + rowHeight / 2}`, "grid")] : []),
      ...(highX - lowX >= 1 ? [path(`${ends}M${lowX} ${y}L${highX} ${y}`, "ink")] : []),
      textAt(range === undefined ? "–" : valueText(range[1], format), highX + 5, y, style),
    ],
  };
}
