import { textOf, valueText } from "@holdfast/app-kit/charts";
import { type MeasureName, measures } from "../measure/measures.ts";
import type { Quartiles } from "../measure/statistics.ts";

/** A cell without a value. */
const nothing = "–";

/** A median, and its quartiles where they differ from it. */
export function quartilesText(quartiles: Quartiles | undefined, measure: MeasureName): string {
  return textOf(quartiles && [quartiles.low, quartiles.median, quartiles.high], measures[measure].format);
}

/** A median alone. */
export function medianText(quartiles: Quartiles | undefined, measure: MeasureName): string {
  return quartiles === undefined ? nothing : valueText(quartiles.median, measures[measure].format);
}

/** A ratio. */
export function ratioText(ratio: number | undefined): string {
  return ratio === undefined ? nothing : valueText(ratio, "ratio");
}

/** The rows of a table for a terminal. */
export function alignedText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}

/** Wraps a paragraph at 120 columns. */
export function wrapped(paragraph: string): string {
  return paragraph.replace(/(.{1,120})(?: |$)/g, "$1\n").trimEnd();
}
