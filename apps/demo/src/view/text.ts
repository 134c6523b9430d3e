import type { createColors } from "picocolors";

/** Functions that colour a text, or do nothing. */
export type Colors = ReturnType<typeof createColors>;

/** Pads the text with blanks to this width, or cuts it and ends it with an ellipsis. */
export function cell(text: string, width: number): string {
  return text.length <= width ? text.padEnd(width) : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** A duration for readers: "12 ms", "1.4 s". */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1) return "<1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** A bar that is filled to this share. */
export function bar(share: number, width: number, paint: (text: string) => string, { dim }: Colors): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return paint("━".repeat(full)) + dim("─".repeat(width - full));
}

/**
 * The smallest of the values that at least this share of them do not exceed (nearest rank); null if there are none.
 *
 * @param share from 0 to 1
 */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** The median and the 99th percentile of waiting times. */
export function waitsText(waitsMs: readonly number[]): string {
  return `median ${duration(percentile(waitsMs, 0.5))}, 99th percentile ${duration(percentile(waitsMs, 0.99))}`;
}
