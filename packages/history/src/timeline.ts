/** A line of a timeline: when, the subject, and what it did. */
export interface TimelineLine {
  /** When, in milliseconds. */
  readonly atMs: number;
  /** The subject. */
  readonly who: string;
  /** A description of the event. */
  readonly what: string;
}

/**
 * Formats lines as columns of time, subject and event, under a title.
 *
 * @param lines in the order of time
 *
 * @example
 * ```ts
 * import { formatLines } from "@holdfast/history/checks";
 *
 * console.log(formatLines([{ atMs: 1.5, who: "web-1", what: "reads 40 from stock" }]));
 * ```
 */
export function formatLines(lines: readonly TimelineLine[]): string {
  const times = lines.map(({ atMs }) => atMs.toFixed(2));
  const timeWidth = Math.max(2, ...times.map((time) => time.length));
  const whoWidth = Math.max(3, ...lines.map(({ who }) => who.length));
  const line = (time: string, who: string, what: string): string =>
    `${time.padStart(timeWidth)}  ${who.padEnd(whoWidth)}  ${what}`;
  const body = lines.map(({ who, what }, index) => line(times[index] ?? "", who, what));
  return [line("ms", "who", "what"), ...body].join("\n");
}
