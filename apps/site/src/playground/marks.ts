/** What the timeline shows of a run, without the places of its lanes. */
import type { Trace } from "@holdfast/simulation";
import { holdSpans, type Span, uncovered } from "./truth.ts";
import { clientOf, hueOf, storagesToShow } from "./words.ts";

/** What a lane is about. */
export type LaneKind = "client" | "node" | "storage";

/** The heights of lanes, in pixels. */
export const heights: Readonly<Record<LaneKind, number>> = { client: 40, node: 24, storage: 24 };

/** A bar, a text, or both, in a lane. */
export interface Mark extends Span {
  /** The name of a client or a node. */
  readonly lane: string;
  /** The bar, from the upper edge of the lane. */
  readonly bar?: { readonly top: number; readonly height: number; readonly look: string };
  /** A text at its start, with its base from the upper edge of the lane. */
  readonly label?: { readonly base: number; readonly text: string; readonly look: string };
}

/** A message, or an access to a storage. */
export interface Flight extends Span {
  /** The lane from which it comes. */
  readonly from: string;
  /** The lane to which it goes. */
  readonly to: string;
  readonly look: string;
  /** Whether it ends on its way. */
  readonly isLost: boolean;
  readonly end: "dot" | "box" | undefined;
  /** A character at its end. */
  readonly sign: string;
}

/** Returns the marks of a run: belief above truth, what happens to clients and nodes, and claims. */
export function marksOf(trace: Trace): readonly Mark[] {
  const holds = holdSpans(trace);
  const hue = (client: string): string => `hue-${hueOf(client, trace)}`;
  return [
    ...trace.calls.map(({ client, fromMs, untilMs }) => {
      return { lane: client, fromMs, untilMs, bar: { top: 11, height: 2, look: "waiting" } };
    }),
    ...holds.map(({ client, fromMs, untilMs }) => {
      return { lane: client, fromMs, untilMs, bar: { top: 22, height: 10, look: `truth ${hue(client)}` } };
    }),
    ...trace.leases.flatMap((lease) => {
      const { client, attempt, fence, fromMs, untilMs } = lease;
      const own = holds.filter((hold) => hold.attempt === attempt);
      const bar = { top: 5, height: 14, look: `belief ${hue(client)}` };
      return [
        { lane: client, fromMs, untilMs, bar, label: { base: 16, text: `${fence}`, look: "on-bar" } },
        ...uncovered(lease, own).map((span) => ({ ...span, lane: client, bar: { ...bar, look: "wrong" } })),
      ];
    }),
    ...trace.pauses.map(({ client, fromMs, untilMs }) => {
      const label = { base: 37, text: "paused", look: "" };
      return { lane: client, fromMs, untilMs, bar: { top: 1, height: 38, look: "pause" }, label };
    }),
    ...trace.deaths.map(({ client, atMs }) => {
      const label = { base: 37, text: "✕ crashed", look: "bad" };
      return { lane: client, fromMs: atMs, untilMs: Infinity, bar: { top: 1, height: 38, look: "pause" }, label };
    }),
    ...clockMarks(trace),
    ...trace.claims.map(({ node, client, fromMs, untilMs }) => {
      const label = { base: 16, text: client.replace(/^client /, ""), look: "on-bar" };
      return { lane: node, fromMs, untilMs, bar: { top: 6, height: 12, look: `claim ${hue(client)}` }, label };
    }),
    ...trace.outages.flatMap(({ node, fromMs, untilMs, votesFromMs, memory }) => {
      const label = { base: 16, text: memory === "lost" ? "down, forgets" : "down", look: "bad" };
      return [
        { lane: node, fromMs: untilMs, untilMs: votesFromMs, bar: { top: 2, height: 20, look: "guard" } },
        { lane: node, fromMs, untilMs, bar: { top: 1, height: 22, look: "pause" }, label },
      ];
    }),
  ];
}

function clockMarks({ clocks, nodes }: Trace): Mark[] {
  return clocks
    .filter(({ offsetMs }) => offsetMs !== 0)
    .map(({ of, atMs, offsetMs }) => {
      const base = heights[nodes.includes(of) ? "node" : "client"] - 4;
      const text = `◷ ${offsetMs > 0 ? "+" : "−"}${Math.abs(Math.round(offsetMs))}`;
      return { lane: of, fromMs: atMs, untilMs: atMs + 1, label: { base, text, look: "bad" } };
    });
}

/** Returns the messages and accesses of a run. */
export function flightsOf(trace: Trace): readonly Flight[] {
  return [
    ...trace.messages.map((message) => {
      const { from, to, part, isLost, sentAtMs, arrivesAtMs } = message;
      const look = `${part} hue-${hueOf(clientOf(message), trace)}${isLost ? " lost" : ""}`;
      const [end, sign] = isLost ? [undefined, "✕"] : (["dot", ""] as const);
      return { from, to, fromMs: sentAtMs, untilMs: arrivesAtMs, look, isLost, end, sign };
    }),
    ...trace.accesses.flatMap(({ client, kind, results, sentAtMs, arrivesAtMs }) =>
      storagesToShow(trace).map((storage) => {
        const { lost, outcome = "accepted" } = results?.[storage] ?? {};
        const signs = { accepted: kind === "write" ? "W" : "R", refused: "✕", skipped: "" };
        const sign = lost === undefined ? signs[outcome] : "⚠";
        return {
          ...{ from: client, to: storage, fromMs: sentAtMs, untilMs: arrivesAtMs, isLost: false, sign },
          look: `access hue-${hueOf(client, trace)}${lost === undefined ? "" : " bad"}`,
          end: sign === "" ? undefined : ("box" as const),
        };
      }),
    ),
  ];
}
