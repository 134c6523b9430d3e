import type { Measure } from "../measure/measures.ts";
import type { Quartiles } from "../measure/statistics.ts";

/** A value as its measure is written. */
export function valueText(value: number, { format }: Pick<Measure, "format">): string {
  if (format === "ms") return `${digits(value)} ms`;
  if (format === "whole") return Math.round(value).toLocaleString("en");
  if (format === "ratio") return value.toFixed(2);
  return digits(value);
}

/** The median, and the quartiles where they differ from it. */
export function quartilesText({ low, median, high }: Quartiles, measure: Pick<Measure, "format">): string {
  const [from, middle, to] = [low, median, high].map((value) => valueText(value, measure));
  return from === middle && to === middle ? `${middle}` : `${middle} (${from} – ${to})`;
}

/** A ratio: `0.125`, `6.40`, `120`. */
export function ratioText(ratio: number): string {
  return ratio < 1 ? ratio.toFixed(3) : digits(ratio);
}

/** Three digits, and all of those before the point. */
function digits(value: number): string {
  if (value === 0) return "0";
  const decimals = Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A table of Markdown. Its first column is text; the others are numbers, unless they are said to be text, too. */
export function tableText(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  others: "numbers" | "text" = "numbers",
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => (column === 0 || others === "text" ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
