import { lossesOf } from "../history/losses.ts";
import type { Band, Visit } from "../history/visit.ts";
import type { Result } from "../run.ts";
import { dashes, rect, text, titled, titleOf } from "./svg.ts";

const width = 1000;
const left = 44;
const right = 12;
const laneHeight = 24;
const barHeight = 16;
const headHeight = 44;
const footHeight = 56;
const shortestBand = 3;
const letterWidth = 6;
const colors = {
  held: "#4c78a8",
  twice: "#d62728",
  fault: "#f6c768",
  lane: "#f3f4f6",
  ink: "#1f2937",
  faint: "#6b7280",
  refused: "#7c3aed",
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
  const base = visits.reduce((least, { fence }) => Math.min(least, fence), visits[0]?.fence ?? 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    titleOf(`${slice.nemesis.name}: ${slice.nemesis.description}`),
    rect(0, 0, width, height, "#ffffff"),
    text(left, 18, slice.nemesis.name, { size: 14, weight: 600 }),
    text(left, 34, slice.nemesis.description, { fill: colors.faint }),
    ...names.map((name) => lane(name, place)),
    ...history.bands.map((band) => bandOf(band, place)),
    ...visits.map((visit) => barOf(visit, place, base, twice.has(visit))),
    ...visits.map((visit) => marksOf(visit, place, lost.has(visit.element))),
    ...history.bands.map((band) => labelOf(band, place)),
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

function bandOf({ lane: name, fromMs, toMs }: Band, { x, y }: Place): string {
  return rect(x(fromMs), y(name), Math.max(x(toMs) - x(fromMs), shortestBand), laneHeight - 2, colors.fault);
}

/** Beside a band that is too short for it. */
function labelOf({ lane: name, label, fromMs, toMs }: Band, { x, y }: Place): string {
  const from = x(fromMs);
  const to = Math.max(x(toMs), from + shortestBand);
  const length = label.length * letterWidth;
  if (to - from > length) return text((from + to) / 2, y(name) + 15, label, { anchor: "middle", halo: colors.fault });
  return text(Math.min(to + 4, width - right - length), y(name) + 15, label, { halo: colors.lane });
}

function barOf(visit: Visit, { x, y }: Place, base: number, isTwice: boolean): string {
  const from = x(visit.grantedAtMs);
  const length = Math.max(x(visit.heldUntilMs) - from, 1);
  const top = y(visit.client) + (laneHeight - 2 - barHeight) / 2;
  const token = `+${visit.fence - base}`;
  const bar = rect(from, top, length, barHeight, isTwice ? colors.twice : colors.held);
  const label = text(from + 4, top + 12, token, { fill: "#ffffff", size: 10 });
  return titled(bar, `token ${visit.fence}`) + (length > token.length * letterWidth + 6 ? label : "");
}

/** What became of what the holder wrote. */
function marksOf(visit: Visit, { x, y }: Place, isLost: boolean): string {
  const middle = y(visit.client) + (laneHeight - 2) / 2;
  const endX = x(visit.wroteAtMs ?? visit.heldUntilMs);
  return [
    visit.plain === "late" ? dashes(x(visit.heldUntilMs), endX, middle, colors.ink) : "",
    isLost ? text(endX - 12, middle + 5, "✕", { size: 13, weight: 700, halo: "#ffffff" }) : "",
    visit.fenced === "refused" ? text(endX + 2, middle + 4, "◆", { fill: colors.refused, halo: "#ffffff" }) : "",
  ].join("");
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
    [rect(0, y - 10, 12, 11, colors.held), `holds the lock; its token is ${base} + the number`],
    [rect(0, y - 10, 12, 11, colors.twice), "two hold it at once"],
    [rect(0, y - 10, 12, 11, colors.fault), "a fault"],
    [text(1, y, "┄", { weight: 700 }), "writes late"],
    [text(1, y, "✕", { weight: 700 }), "its update was lost, without tokens"],
    [text(1, y, "◆", { fill: colors.refused }), "refused, with tokens"],
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
