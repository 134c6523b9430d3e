import type { TimelineBar, TimelineChart } from "@holdfast/app-kit/charts";
import { lossesOf } from "../history/checks.ts";
import type { Band, Visit } from "../history/visit.ts";
import type { Result } from "../run.ts";

/** Returns the file of the timeline of a nemesis. */
export function timelineFile(nemesis: string): string {
  return `timelines/${nemesis}.svg`;
}

/** The names of the lanes of a timeline. */
export interface Lanes {
  readonly clients: readonly string[];
  readonly nodes: readonly string[];
}

/** Shows an attack: who held the lock and with which token, and what was struck when. */
export function timelineChart({ slice, history, findings }: Result, lanes: Lanes): TimelineChart {
  const { fromMs, bands, sets } = history;
  const visits = history.visits.filter(({ grantedAtMs }) => grantedAtMs < history.toMs);
  const ends = visits.map(({ heldUntilMs, wroteAtMs }) => Math.max(heldUntilMs, wroteAtMs ?? 0));
  const lost = new Set(lossesOf(visits, sets).plain);
  const twice = new Set(findings.overlaps.flatMap(({ earlier, later }) => [earlier, later]));
  const base = visits.reduce((least, { fence }) => Math.min(least, fence), visits[0]?.fence ?? 0);
  const since = (ms: number): number => Math.round((ms - fromMs) * 10) / 10;
  const bar = (lane: string, from: number, to: number, label?: string): TimelineBar => ({
    ...{ lane, fromMs: since(from), toMs: since(to), ...(label !== undefined && { label }) },
  });
  const hold = (visit: Visit): TimelineBar =>
    bar(visit.client, visit.grantedAtMs, visit.heldUntilMs, `+${visit.fence - base}`);
  const fault = (band: Band): TimelineBar => bar(band.lane, Math.max(band.fromMs, fromMs), band.toMs, band.label);
  const mark = ({ client, heldUntilMs, wroteAtMs }: Visit) => ({ lane: client, atMs: since(wroteAtMs ?? heldUntilMs) });
  const faultsOn = (some: readonly string[]): TimelineBar[] =>
    bands.filter(({ lane }) => some.includes(lane)).map(fault);
  const late = visits.filter(({ plain }) => plain === "late");
  const { name, description } = slice.nemesis;
  return {
    ...{ type: "timeline", file: timelineFile(name), title: `The timeline of ${name}` },
    description: `${sentence(description)}\nThe number in a bar is the token of the lock, less ${base}.`,
    timeline: {
      lanes: [...lanes.clients, ...lanes.nodes],
      lastsMs: since(Math.max(history.toMs, ...ends)),
      bars: [
        // The bars of the holder cover the inside.
        { name: "fault", color: "fault", height: "full", labels: "beside", bars: faultsOn(lanes.clients) },
        { name: "fault", color: "fault", height: "full", labels: "inside or beside", bars: faultsOn(lanes.nodes) },
        {
          ...{ name: "holds the lock", color: "held", height: "usual" },
          bars: visits.filter((visit) => !twice.has(visit)).map(hold),
        },
        {
          ...{ name: "two hold the lock at once", color: "twice", height: "usual" },
          bars: visits.filter((visit) => twice.has(visit)).map(hold),
        },
        {
          ...{ name: "writes late", color: "ink", height: "line" },
          bars: late.map((visit) => bar(visit.client, visit.heldUntilMs, visit.wroteAtMs ?? visit.heldUntilMs)),
        },
      ],
      marks: [
        {
          ...{ name: "update lost, where tokens are not checked", color: "ink", symbol: "cross" },
          marks: visits.filter(({ element }) => lost.has(element)).map(mark),
        },
        {
          ...{ name: "write refused, where tokens are checked", color: "refused", symbol: "diamond" },
          marks: visits.filter(({ fenced }) => fenced === "refused").map(mark),
        },
      ],
    },
  };
}

function sentence(phrase: string): string {
  return `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
}
