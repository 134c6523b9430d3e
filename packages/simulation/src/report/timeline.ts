/** One thing that happened. */
export interface TimelineEvent {
  /** When, in milliseconds of true time. */
  readonly atMs: number;
  /** Whose doing it is: a client, a node, the storage, a fault, or a check. */
  readonly who: string;
  /** What happened. */
  readonly what: string;
  /** Which attempt to lock it is about. */
  readonly attempt?: string | undefined;
  /** The node to which it was sent, if it is a request. */
  readonly to?: string | undefined;
  /** The node whose answer it is, if it is one. */
  readonly from?: string | undefined;
  /** Whether a node has granted something by it. */
  readonly isGrant?: boolean | undefined;
}

/** What to write down, other than when and who. */
export type Remark = Omit<TimelineEvent, "atMs" | "who">;

/** Told what happens, if anybody wants to read it: the text is made only then. */
export type Tell = (atMs: number, who: string, remark: () => Remark | string) => void;

/**
 * Writes events as lines for people: time, who, what. What is asked of several nodes at once is one line, and so is what
 * several answer at once; of attempts that no node granted anything there is only that they were made.
 */
export function formatTimeline(events: readonly TimelineEvent[]): string {
  const sorted = [...events].sort((a, b) => a.atMs - b.atMs);
  const lines = joinNodes(sideBySide(withoutVainAttempts(sorted)));
  const times = lines.map(({ atMs }) => atMs.toFixed(2));
  const timeWidth = Math.max(2, ...times.map((time) => time.length));
  const whoWidth = Math.max(3, ...lines.map(({ who }) => who.length));
  const line = (time: string, who: string, what: string): string =>
    `${time.padStart(timeWidth)}  ${who.padEnd(whoWidth)}  ${what}`;
  const body = lines.map(({ who, what }, index) => line(times[index] ?? "", who, what));
  return [line("ms", "who", "what"), ...body].join("\n");
}

/** What a line says. */
type Line = Pick<TimelineEvent, "atMs" | "who" | "what">;

/** Leaves one event of each attempt that came to nothing, and one of each series of them. */
function withoutVainAttempts(events: readonly TimelineEvent[]): TimelineEvent[] {
  const fruitful = new Set(events.filter(({ isGrant }) => isGrant).map(({ attempt }) => attempt));
  const series = new Map<string, { line: TimelineEvent; attempts: string[] }>();
  const kept: TimelineEvent[] = [];
  for (const event of events) {
    const { attempt, who, to } = event;
    if (attempt === undefined || fruitful.has(attempt)) {
      kept.push(event);
      series.delete(who);
    } else if (to !== undefined) {
      const vain = series.get(who) ?? { line: event, attempts: [] };
      if (vain.attempts.length === 0) kept.push(vain.line);
      if (vain.attempts.at(-1) !== attempt) vain.attempts.push(attempt);
      series.set(who, vain);
      kept[kept.indexOf(vain.line)] = vain.line = { ...vain.line, to: undefined, what: tries(vain.attempts) };
    }
  }
  return kept;
}

function tries(attempts: readonly string[]): string {
  const [first, last] = [attempts[0], attempts.at(-1)];
  return first === last ? `tries in vain, ${first}` : `tries in vain, ${first} to ${last}`;
}

/** Puts what several nodes say alike at the same moment together, where each of them says several things. */
function sideBySide(events: readonly TimelineEvent[]): TimelineEvent[] {
  const grouped: TimelineEvent[] = [];
  for (const event of events) {
    const isOfMoment = ({ atMs, from }: TimelineEvent): boolean => from !== undefined && atMs === event.atMs;
    const momentFrom = grouped.findLastIndex((other) => !isOfMoment(other)) + 1;
    const alike = grouped.findLastIndex((other) => other.what === event.what);
    const isNodes = event.from !== undefined && alike >= momentFrom;
    grouped.splice(isNodes ? alike + 1 : grouped.length, 0, event);
  }
  return grouped;
}

/** Makes one line of what one client asks several nodes at once, and of what several answer alike at once. */
function joinNodes(events: readonly TimelineEvent[]): Line[] {
  const lines: Line[] = [];
  let previous: TimelineEvent | undefined;
  let nodes: string[] = [];
  for (const event of events) {
    const node = event.to ?? event.from;
    const isSame = previous !== undefined && node !== undefined && areAlike(previous, event);
    nodes = node === undefined ? [] : isSame ? [...nodes, node] : [node];
    if (isSame) lines.pop();
    lines.push(lineOf(event, nodes));
    previous = event;
  }
  return lines;
}

/** Whether two events are the same but for the node. */
function areAlike(a: TimelineEvent, b: TimelineEvent): boolean {
  const isSameWay = a.to === undefined ? b.to === undefined && a.from !== undefined : b.to !== undefined;
  return isSameWay && a.atMs === b.atMs && a.what === b.what && (a.from !== undefined || a.who === b.who);
}

function lineOf({ atMs, who, what, to, from }: TimelineEvent, nodes: readonly string[]): Line {
  if (to !== undefined) return { atMs, who, what: `asks ${nodes.join(", ")} ${what}` };
  return { atMs, who: from !== undefined && nodes.length > 1 ? `nodes ${nodes.join(" ")}` : who, what };
}
