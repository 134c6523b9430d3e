/** One line of a timeline. */
export interface TimelineEvent {
  /** When, in milliseconds of true time. */
  readonly atMs: number;
  /** Whose doing it is: a client, a node, the storage, or `fault`. */
  readonly who: string;
  /** What happened. */
  readonly what: string;
}

/** Told what happens, if anybody wants to read it. The text is made only then. */
export type Tell = (atMs: number, who: string, what: () => string) => void;

/** Writes events as lines for people: time, who, what. */
export function formatTimeline(events: readonly TimelineEvent[]): string {
  const sorted = [...events].sort((a, b) => a.atMs - b.atMs);
  const times = sorted.map(({ atMs }) => atMs.toFixed(2));
  const timeWidth = Math.max(2, ...times.map((time) => time.length));
  const whoWidth = Math.max(3, ...sorted.map(({ who }) => who.length));
  const line = (time: string, who: string, what: string): string =>
    `${time.padStart(timeWidth)}  ${who.padEnd(whoWidth)}  ${what}`;
  return [line("ms", "who", "what"), ...sorted.map(({ who, what }, index) => line(times[index] ?? "", who, what))].join(
    "\n",
  );
}
