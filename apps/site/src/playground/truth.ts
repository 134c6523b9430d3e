/** The truth about the lock over time, whatever its clients believe. */
import type { Trace } from "@holdfast/simulation";

/** A time span, in milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Whether a span includes a moment. */
export function isDuring({ fromMs, untilMs }: Span, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
}

/** Returns how many nodes must keep the claims of a lock. */
export function neededOf({ quorums }: Trace): number {
  return quorums[0]?.[0]?.needed ?? 0;
}

/** A time during which an attempt had claims on enough nodes. */
export interface HoldSpan extends Span {
  /** The attempt. */
  readonly attempt: string;
  /** Its client. */
  readonly client: string;
}

/** Returns when each attempt had claims on enough nodes. */
export function holdSpans(trace: Trace): readonly HoldSpan[] {
  const attempts = new Map(trace.claims.map(({ attempt, client }) => [attempt, client]));
  return [...attempts].flatMap(([attempt, client]) => {
    const changes = trace.claims
      .filter((claim) => claim.attempt === attempt)
      .flatMap(({ fromMs, untilMs }) => [
        { atMs: fromMs, by: 1 },
        { atMs: untilMs, by: -1 },
      ])
      .sort((a, b) => a.atMs - b.atMs || a.by - b.by);
    const spans: HoldSpan[] = [];
    let [claims, fromMs] = [0, 0];
    for (const { atMs, by } of changes) {
      if (by < 0 && claims === neededOf(trace)) spans.push({ attempt, client, fromMs, untilMs: atMs });
      claims += by;
      if (by > 0 && claims === neededOf(trace)) fromMs = atMs;
    }
    return spans;
  });
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
