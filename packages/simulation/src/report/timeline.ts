import { formatLines, type TimelineLine } from "@holdfast/history/checks";

/** One event of a run. */
export interface TimelineEvent {
  /** When, in milliseconds of true time. */
  readonly atMs: number;
  /** The subject: a client, a node, the storage, a fault, or a check. */
  readonly who: string;
  /** A description of the event. */
  readonly what: string;
  /** The attempt that it belongs to. */
  readonly attempt?: string | undefined;
  /** If it is a request: the node that it was sent to. */
  readonly to?: string | undefined;
  /** If it is a reply: the node that sent it. */
  readonly from?: string | undefined;
  /** Whether it is a node's grant. */
  readonly isGrant?: boolean | undefined;
}

/** An event without its time and subject. */
export type Remark = Omit<TimelineEvent, "atMs" | "who">;

/** Receives an event, unless there is nothing to remark. The text is made only if a timeline is written. */
export type Log = (atMs: number, who: string, remark: () => Remark | string | undefined) => void;

/**
 * Returns events as lines, the earliest first. A request to several nodes at once is one line, and so is the same reply
 * from several nodes at once. Attempts that no node granted anything are only counted.
 *
 * @example
 * ```ts
 * import { drawScenario, simulate, timelineLines } from "@holdfast/simulation";
 *
 * const { timeline } = await simulate(drawScenario("survivable", 1), { timeline: true });
 * const last = timelineLines(timeline).at(-1);
 * ```
 */
export function timelineLines(events: readonly TimelineEvent[]): TimelineLine[] {
  const sorted = [...events].sort((a, b) => a.atMs - b.atMs);
  return joinNodes(sideBySide(withoutVainAttempts(sorted)));
}

/**
 * Formats events as lines of time, subject and event, as `timelineLines` joins them.
 *
 * @param events in the order of time
 *
 * @example
 * ```ts
 * import { formatTimeline } from "@holdfast/simulation";
 *
 * console.log(formatTimeline([{ atMs: 1.5, who: "client 1", what: "asks A, B, C for stock" }]));
 * ```
 */
export function formatTimeline(events: readonly TimelineEvent[]): string {
  return formatLines(timelineLines(events));
}

/** Replaces each series of attempts that no node granted by one event. */
function withoutVainAttempts(events: readonly TimelineEvent[]): TimelineEvent[] {
  const granted = new Set(events.filter(({ isGrant }) => isGrant).map(({ attempt }) => attempt));
  const series = new Map<string, { line: TimelineEvent; attempts: string[] }>();
  const kept: TimelineEvent[] = [];
  for (const event of events) {
    const { attempt, who, to } = event;
    if (attempt === undefined || granted.has(attempt)) {
      kept.push(event);
      series.delete(who);
    } else if (to !== undefined) {
      const vain = series.get(who) ?? { line: event, attempts: [] };
      if (vain.attempts.length === 0) kept.push(vain.line);
      if (vain.attempts.at(-1) !== attempt) vain.attempts.push(attempt);
      series.set(who, vain);
      kept[kept.indexOf(vain.line)] = vain.line = { ...vain.line, to: undefined, what: describeVain(vain.attempts) };
    }
  }
  return kept;
}

function describeVain(attempts: readonly string[]): string {
  const [first, last] = [attempts[0], attempts.at(-1)];
  return first === last ? `makes attempt ${first}, not granted` : `makes attempts ${first} to ${last}, not granted`;
}

/** Groups equal replies of several nodes at one moment, for moments at which each node sends several replies. */
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

/** Joins a client's simultaneous requests to several nodes, and equal simultaneous replies of several nodes. */
function joinNodes(events: readonly TimelineEvent[]): TimelineLine[] {
  const lines: TimelineLine[] = [];
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

/** Whether two events differ only in the node. */
function areAlike(a: TimelineEvent, b: TimelineEvent): boolean {
  const isSameWay = a.to === undefined ? b.to === undefined && a.from !== undefined : b.to !== undefined;
  return isSameWay && a.atMs === b.atMs && a.what === b.what && (a.from !== undefined || a.who === b.who);
}

function lineOf({ atMs, who, what, to, from }: TimelineEvent, nodes: readonly string[]): TimelineLine {
  if (to !== undefined) return { atMs, who, what: `asks ${nodes.join(", ")} ${what}` };
  return { atMs, who: from !== undefined && nodes.length > 1 ? `nodes ${nodes.join(" ")}` : who, what };
}
