import type { createColors } from "picocolors";

/** Functions that colour a text, or leave it as it is. */
export type Colors = ReturnType<typeof createColors>;

/** Exactly this wide: filled up with blanks, or cut, with a mark where it was cut. */
export function cell(text: string, width: number): string {
  return text.length <= width ? text.padEnd(width) : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** A duration as people say it: "12 ms", "1.4 s". */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1) return "<1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** A bar of which this share is full. */
export function bar(share: number, width: number, paint: (text: string) => string, { dim }: Colors): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return paint("━".repeat(full)) + dim("─".repeat(width - full));
}
