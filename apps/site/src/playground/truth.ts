/** The truth about locks over time, whatever their clients believe. */
import type { ClaimTrace, Trace } from "@holdfast/simulation";

/** A time during which an attempt had claims on enough nodes. */
export interface HoldSpan {
  /** The attempt. */
  readonly attempt: string;
  /** Its client. */
  readonly client: string;
  /** When the last claim that was needed was granted. */
  readonly fromMs: number;
  /** When too few claims were left. */
  readonly untilMs: number;
}

/** Returns when each attempt had claims on a majority of the nodes. */
export function holdSpans({ claims, nodes }: Trace): readonly HoldSpan[] {
  const needed = Math.floor(nodes.length / 2) + 1;
  const groups = new Map<string, ClaimTrace[]>();
  for (const claim of claims) {
    const key = `${claim.attempt} ${claim.resource}`;
    groups.set(key, [...(groups.get(key) ?? []), claim]);
  }
  return [...groups.values()].flatMap((group) => spansOf(group, needed));
}

/** Returns when so many claims of one attempt on one resource were in force. */
function spansOf(claims: readonly ClaimTrace[], needed: number): HoldSpan[] {
  const changes = claims
    .flatMap(({ fromMs, untilMs }) => [
      { atMs: fromMs, by: 1 },
      { atMs: untilMs, by: -1 },
    ])
    .sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  const [{ attempt, client } = { attempt: "", client: "" }] = claims;
  const spans: HoldSpan[] = [];
  let [count, fromMs] = [0, 0];
  for (const { atMs, by } of changes) {
    if (by === 1 && count === needed - 1) fromMs = atMs;
    if (by === -1 && count === needed) spans.push({ attempt, client, fromMs, untilMs: atMs });
    count += by;
  }
  return spans;
}

/** A time span. */
export interface Span {
  /** Its start, in milliseconds. */
  readonly fromMs: number;
  /** Its end, in milliseconds. */
  readonly untilMs: number;
}

/** Returns the parts of a span that no other span covers. */
export function uncovered(span: Span, by: readonly Span[]): readonly Span[] {
  let rest: Span[] = [span];
  for (const { fromMs, untilMs } of by) {
    rest = rest.flatMap((part) =>
      [
        { fromMs: part.fromMs, untilMs: Math.min(part.untilMs, fromMs) },
        { fromMs: Math.max(part.fromMs, untilMs), untilMs: part.untilMs },
      ].filter((left) => left.fromMs < left.untilMs),
    );
  }
  return rest;
}
