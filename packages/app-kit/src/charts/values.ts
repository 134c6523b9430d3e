/** How a value is written: in milliseconds, as a whole number, with two decimals, or with three digits. */
export type Format = "ms" | "whole" | "ratio" | "digits";

/** Writes a value. */
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
