import { lossesOf } from "../history/losses.ts";
import type { Band, Visit } from "../history/visit.ts";
import type { Result } from "../run.ts";
import { rect, text, title } from "./svg.ts";

const width = 1000;
const left = 44;
const right = 12;
const laneHeight = 24;
const barHeight = 16;
const headHeight = 44;
const footHeight = 56;
const colors = {
  held: "#4c78a8",
  twice: "#d62728",
  fault: "#f6c768",
  lane: "#f3f4f6",
  ink: "#1f2937",
  faint: "#6b7280",
} as const;

/** The names of the lanes of a picture. */
export interface Lanes {
  readonly clients: readonly string[];
  readonly nodes: readonly string[];
}

/** Draws one attack: who held the lock, with which token, and what was struck when. */
export function timelineOf({ slice, history, findings }: Result, lanes: Lanes): string {
  const names = [...lanes.clients, ...lanes.nodes];
  const height = headHeight + names.length * laneHeight + footHeight;
  const visits = history.visits.filter(({ grantedAtMs }) => grantedAtMs < history.toMs);
  const toMs = Math.max(
    history.toMs,
    ...visits.map(({ heldUntilMs, wroteAtMs }) => Math.max(heldUntilMs, wroteAtMs ?? 0)),
  );
  const scale = (width - left - right) / (toMs - history.fromMs);
  const place: Place = {
    x: (ms) => left + (Math.max(ms, history.fromMs) - history.fromMs) * scale,
    y: (name) => headHeight + names.indexOf(name) * laneHeight,
  };
  const lost = new Set(lossesOf(visits, history.sets).plain);
  const twice = new Set(findings.overlaps.flatMap(({ earlier, later }) => [earlier, later]));
  const base = Math.min(...visits.map(({ fence }) => fence));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    rect(0, 0, width, height, "#ffffff"),
    text(left, 18, slice.nemesis.name, { size: 14, weight: 600 }),
    text(left, 34, slice.nemesis.description, { fill: colors.faint }),
    ...names.map((name) => lane(name, place)),
    ...history.bands.map((band) => bandOf(band, place)),
    ...visits.map((visit) =>
      visitOf(visit, place, { base, isTwice: twice.has(visit), isLost: lost.has(visit.element) }),
    ),
    ...axis(history.fromMs, toMs, headHeight + names.length * laneHeight, place),
    legend(height - 10, base),
    "</svg>",
    "",
  ].join("\n");
}

interface Place {
  x(ms: number): number;
  y(lane: string): number;
}

function lane(name: string, { y }: Place): string {
  return (
    rect(left, y(name), width - left - right, laneHeight - 2, colors.lane) +
    text(left - 8, y(name) + 15, name, { anchor: "end" })
  );
}

function bandOf({ lane: name, label, fromMs, toMs }: Band, { x, y }: Place): string {
  const from = x(fromMs);
  const to = Math.max(x(toMs), from + 3);
  // Beside a band that is too short for its label.
  const isRoomy = to - from > label.length * 6;
  const at = isRoomy ? from + 5 : Math.min(to + 4, width - right - label.length * 6);
  return rect(from, y(name), to - from, laneHeight - 2, colors.fault) + text(at, y(name) + 15, label);
}

interface Marks {
  readonly base: number;
  readonly isTwice: boolean;
  readonly isLost: boolean;
}

function visitOf(visit: Visit, { x, y }: Place, { base, isTwice, isLost }: Marks): string {
  const from = x(visit.grantedAtMs);
  const length = Math.max(x(visit.heldUntilMs) - from, 1);
  const top = y(visit.client) + (laneHeight - 2 - barHeight) / 2;
  const token = `+${visit.fence - base}`;
  const parts = [
    title(rect(from, top, length, barHeight, isTwice ? colors.twice : colors.held), `token ${visit.fence}`),
  ];
  if (length > token.length * 6 + 6) parts.push(text(from + 4, top + 12, token, { fill: "#ffffff", size: 10 }));
  const endX = x(visit.wroteAtMs ?? visit.heldUntilMs);
  if (visit.plain === "late") {
    const start = from + length;
    parts.push(
      `<path d="M${start.toFixed(1)} ${top + 8}H${endX.toFixed(1)}" stroke="${colors.ink}" stroke-dasharray="2 2"/>`,
    );
  }
  if (isLost) parts.push(text(endX - 4, top + 13, "✕", { fill: colors.ink, size: 13, weight: 700 }));
  if (visit.fenced === "refused") parts.push(text(endX + 6, top + 13, "◆", { fill: "#7c3aed", size: 11 }));
  return parts.join("");
}

function* axis(fromMs: number, toMs: number, y: number, { x }: Place): Generator<string> {
  const stepMs = [100, 200, 500, 1_000, 2_000, 5_000].find((step) => (toMs - fromMs) / step <= 14) ?? 10_000;
  for (let ms = 0; fromMs + ms <= toMs; ms += stepMs) {
    const at = x(fromMs + ms);
    yield `<path d="M${at.toFixed(1)} ${headHeight}V${y}" stroke="#d1d5db" stroke-width="0.5"/>`;
    yield text(at, y + 13, `${ms / 1000} s`, { anchor: "middle", fill: colors.faint, size: 10 });
  }
}

function legend(y: number, base: number): string {
  const items: readonly (readonly [sample: string, meaning: string])[] = [
    [rect(0, y - 10, 12, 11, colors.held), `holds the lock; its token, more than ${base}`],
    [rect(0, y - 10, 12, 11, colors.twice), "two hold it at once"],
    [rect(0, y - 10, 12, 11, colors.fault), "a fault"],
    [text(1, y, "┄", { weight: 700 }), "writes late"],
    [text(1, y, "✕", { weight: 700 }), "its update was lost, without tokens"],
    [text(1, y, "◆", { fill: "#7c3aed" }), "refused, with tokens"],
  ];
  let x = left;
  return items
    .map(([sample, meaning]) => {
      const item = `<g transform="translate(${x})">${sample}${text(17, y, meaning, { fill: colors.faint, size: 10 })}</g>`;
      x += 30 + meaning.length * 5.2;
      return item;
    })
    .join("");
}
