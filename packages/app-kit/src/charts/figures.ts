/** The figures that a report keeps beside its page, and the charts that are drawn from them. */
import { type BarPanel, type BarRow, barsSvg, type Kind, panelSvg, panelText, textOf } from "./bars.ts";
import type { Format } from "./values.ts";

/** The content of a file `figures.json`. */
export interface Figures {
  /** Names and values. A value is a number, or a lower quartile, a median and an upper quartile. */
  readonly rows: readonly Row[];
  /** What the names of bars stand for. Default: `"plain"`. */
  readonly kinds?: Readonly<Record<string, Kind>>;
  readonly charts: readonly BarChart[];
}

/** A row of figures. */
export type Row = Readonly<Record<string, unknown>>;

/** A chart whose bars are values of rows. */
export interface BarChart {
  readonly type: "bars";
  /** The path of its picture, relative to the report. */
  readonly file: string;
  readonly title: string;
  /** Its name among the charts beside it, of which a reader chooses one. Default: its title. */
  readonly choice?: string;
  /** The names of the bars that it shows. Default: all that rows have. */
  readonly only?: readonly string[];
  /** Notes behind the names of bars. */
  readonly notes?: Readonly<Record<string, string>>;
  /** Explains the bars and the notes. */
  readonly key?: string;
  readonly panels: readonly PanelSource[];
}

/** Which rows are the bars of a panel. */
export interface PanelSource {
  readonly title: string;
  /** The values that a row must have. */
  readonly where: Readonly<Record<string, string>>;
  /** The field that names a bar, and the one that has its value. */
  readonly name: string;
  readonly value: string;
  readonly format: Format;
  /** The order of the bars. Default: that of the rows. */
  readonly first?: "largest" | "smallest";
}

/** A chart as parts of a page, whose colours are CSS variables. */
export interface ChartParts {
  readonly title: string;
  readonly choice: string;
  readonly pictures: readonly {
    readonly svg: string;
    /** What it shows, in words. */
    readonly text: string;
  }[];
  readonly key: string;
  /** The same figures; the first row is the head. */
  readonly table: readonly (readonly string[])[];
}

/** Draws a chart as a picture of its own. */
export function chartSvg(figures: Figures, chart: BarChart): string {
  return barsSvg(chart.title, panelsOf(figures, chart), chart.key);
}

function panelsOf({ rows, kinds = {} }: Figures, { panels, only, notes = {} }: BarChart): BarPanel[] {
  return panels.map(({ where, name, value, first, ...panel }) => {
    const chosen = rows.filter((row) => Object.entries(where).every(([field, wanted]) => row[field] === wanted));
    const shown = chosen.filter((row) => only === undefined || only.includes(String(row[name])));
    const bars = shown.map((row): BarRow => {
      const bar = String(row[name]);
      return { name: bar, kind: kinds[bar] ?? "plain", note: notes[bar] ?? "", range: rangeOf(row[value]) };
    });
    const sign = first === "smallest" ? 1 : -1;
    const last = Number.POSITIVE_INFINITY;
    const rank = ({ range }: BarRow): number => (range === undefined ? last : sign * range[1]);
    return { ...panel, rows: first === undefined ? bars : bars.toSorted((a, b) => rank(a) - rank(b) || 0) };
  });
}

function rangeOf(value: unknown): BarRow["range"] {
  if (typeof value === "number") return [value, value, value];
  if (!Array.isArray(value) || value.some((one) => typeof one !== "number")) return undefined;
  return [value[0], value[1], value[2]];
}

/** Draws a chart as parts of a page. */
export function chartParts(figures: Figures, chart: BarChart): ChartParts {
  const panels = panelsOf(figures, chart);
  const names = [...new Set(panels.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const cellOf = ({ rows, format }: BarPanel, name: string): string => {
    const row = rows.find((one) => one.name === name);
    return row === undefined ? "" : textOf(row.range, format);
  };
  return {
    title: chart.title,
    choice: chart.choice ?? chart.title,
    pictures: panels.map((panel) => ({ svg: panelSvg(panel, "variables"), text: panelText(panel) })),
    key: chart.key ?? "",
    table: [
      ["", ...panels.map(({ title }) => title)],
      ...names.map((name) => [name, ...panels.map((panel) => cellOf(panel, name))]),
    ],
  };
}
