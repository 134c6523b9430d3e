import { type Format, type MeasureName, measures } from "../measure/measures.ts";
import type { Quartiles } from "../measure/statistics.ts";

/** A cell without a value. */
const nothing = "–";

/** A median, and its quartiles where they differ from it. */
export function quartilesText(quartiles: Quartiles | undefined, measure: MeasureName): string {
  if (quartiles === undefined) return nothing;
  const { low, high } = quartiles;
  const texts = [low, high].map((value) => valueText(value, measures[measure].format));
  const text = medianText(quartiles, measure);
  return texts.every((one) => one === text) ? text : `${text} (${texts.join(" – ")})`;
}

/** A median alone. */
export function medianText(quartiles: Quartiles | undefined, measure: MeasureName): string {
  return quartiles === undefined ? nothing : valueText(quartiles.median, measures[measure].format);
}

/** A value. */
export function valueText(value: number, format: Format): string {
  if (format === "ms") return `${digits(value)} ms`;
  if (format === "whole") return Math.round(value).toLocaleString("en");
  if (format === "ratio") return value.toFixed(2);
  return digits(value);
}

/** Three digits, and all digits before the point. */
function digits(value: number): string {
  if (value === 0) return "0";
  const decimals = Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
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
