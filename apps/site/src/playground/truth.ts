/** The truth about locks over time, whatever their clients believe. */
import type { ClaimTrace, LeaseTrace, QuorumTrace, Trace } from "@holdfast/simulation";

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

/** Returns when each attempt had claims on a quorum of each set of nodes of which it needed one. */
export function holdSpans({ claims, quorums }: Trace): readonly HoldSpan[] {
  const groups = new Map<string, ClaimTrace[]>();
  for (const claim of claims) {
    const key = `${claim.attempt} ${claim.resource}`;
    groups.set(key, [...(groups.get(key) ?? []), claim]);
  }
  return [...groups.values()].flatMap((group) => spansOf(group, quorums[(group[0]?.epoch ?? 1) - 1] ?? []));
}

/** Returns when claims of one attempt on one resource were in force on each quorum. */
function spansOf(claims: readonly ClaimTrace[], quorums: readonly QuorumTrace[]): HoldSpan[] {
  const changes = claims
    .flatMap(({ node, fromMs, untilMs }) => [
      { node, atMs: fromMs, isClaimed: true },
      { node, atMs: untilMs, isClaimed: false },
    ])
    .sort((a, b) => a.atMs - b.atMs || Number(a.isClaimed) - Number(b.isClaimed));
  const [{ attempt, client } = { attempt: "", client: "" }] = claims;
  const spans: HoldSpan[] = [];
  const claimed = new Set<string>();
  let fromMs: number | undefined;
  for (const { node, atMs, isClaimed } of changes) {
    if (isClaimed) claimed.add(node);
    else claimed.delete(node);
    const holds = quorums.every(({ nodes, needed }) => nodes.filter((name) => claimed.has(name)).length >= needed);
    if (!holds && fromMs !== undefined) spans.push({ attempt, client, fromMs, untilMs: atMs });
    fromMs = holds ? (fromMs ?? atMs) : undefined;
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

/** Whether a span includes a moment. */
export function isDuring({ fromMs, untilMs }: Span, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
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

/** Whether the locks of two clients exclude each other. */
export function conflict(a: Pick<LeaseTrace, "client" | "resources" | "mode">, b: typeof a): boolean {
  const isExclusive = a.mode === "exclusive" || b.mode === "exclusive";
  return a.client !== b.client && isExclusive && a.resources.some((resource) => b.resources.includes(resource));
}
