import { svgOf } from "@holdfast/app-kit/chart";
import { lossesOf } from "../history/losses.ts";
import type { Band, Visit } from "../history/visit.ts";
import type { Result } from "../run.ts";
import { type Bar, bars, right, width } from "./bars.ts";

const laneHeight = 24;
const top = 52;
const bottom = 56;
const left = 44;
const colors = { held: "#4c78a8", twice: "#d62728", fault: "#f6c768", ink: "#1f2937", refused: "#7c3aed" };

const faultStyle = { color: colors.fault, height: 22, ink: colors.ink };

/** The names of the lanes of a picture. */
export interface Lanes {
  readonly clients: readonly string[];
  readonly nodes: readonly string[];
}

/** Draws an attack: who held the lock and with which token, and what was struck when. */
export function timelineOf({ slice, history, findings }: Result, lanes: Lanes): string {
  const names = [...lanes.clients, ...lanes.nodes];
  const { fromMs, bands, sets } = history;
  const visits = history.visits.filter(({ grantedAtMs }) => grantedAtMs < history.toMs);
  const ends = visits.map(({ heldUntilMs, wroteAtMs }) => Math.max(heldUntilMs, wroteAtMs ?? 0));
  const toMs = Math.max(history.toMs, ...ends);
  const lost = new Set(lossesOf(visits, sets).plain);
  const twice = new Set(findings.overlaps.flatMap(({ earlier, later }) => [earlier, later]));
  const base = visits.reduce((least, { fence }) => Math.min(least, fence), visits[0]?.fence ?? 0);
  const bar = (lane: string, from: number, to: number, label = ""): Bar => [lane, from - fromMs, to - fromMs, label];
  const hold = (visit: Visit): Bar => bar(visit.client, visit.grantedAtMs, visit.heldUntilMs, `+${visit.fence - base}`);
  const lateWrite = (visit: Visit): Bar => bar(visit.client, visit.heldUntilMs, visit.wroteAtMs ?? visit.heldUntilMs);
  const end = ({ client, heldUntilMs, wroteAtMs }: Visit): [number, string] => [
    (wroteAtMs ?? heldUntilMs) - fromMs,
    client,
  ];
  const fault = (band: Band): Bar => bar(band.lane, Math.max(band.fromMs, fromMs), band.toMs, band.label);
  const onClients = bands.filter(({ lane }) => lanes.clients.includes(lane)).map(fault);
  const onNodes = bands.filter(({ lane }) => lanes.nodes.includes(lane)).map(fault);
  const once = visits.filter((visit) => !twice.has(visit)).map(hold);
  const atOnce = visits.filter((visit) => twice.has(visit)).map(hold);
  const late = visits.filter(({ plain }) => plain === "late").map(lateWrite);
  const undone = visits.filter(({ element }) => lost.has(element)).map(end);
  const refused = visits.filter(({ fenced }) => fenced === "refused").map(end);
  return svgOf(width, top + names.length * laneHeight + bottom, {
    title: {
      text: slice.nemesis.name,
      subtext: `${slice.nemesis.description} (tokens: ${base} + the number)`,
      ...{ left: left - 4, top: 0, itemGap: 4 },
      ...{ textStyle: { fontSize: 14, color: colors.ink }, subtextStyle: { fontSize: 11 } },
    },
    grid: { left, right, top, bottom },
    legend: { bottom: 0, left: left - 4, itemWidth: 12, itemHeight: 11, itemGap: 24, textStyle: { fontSize: 11 } },
    xAxis: {
      ...{ type: "value", min: 0, max: toMs - fromMs, splitLine: { show: true }, splitNumber: 12 },
      axisLabel: { formatter: (ms: number) => (ms > toMs - fromMs - 1 ? "" : `${ms / 1_000} s`) },
    },
    yAxis: { type: "category", data: names, inverse: true, axisLine: { show: false }, splitArea: { show: true } },
    series: [
      bars("fault", onClients, { ...faultStyle, labels: "beside" }), // the bars of the holder cover the inside
      bars("fault", onNodes, { ...faultStyle, labels: "inside or beside" }),
      bars("holds the lock", once, { color: colors.held, height: 16, ink: "#ffffff" }),
      bars("two hold the lock at once", atOnce, { color: colors.twice, height: 16, ink: "#ffffff" }),
      bars("writes late", late, { color: colors.ink, height: 2, ink: colors.ink }),
      marks("update lost, where tokens are not checked", undone, { color: colors.ink, symbol: cross, offset: -8 }),
      marks("write refused, where tokens are checked", refused, {
        color: colors.refused,
        symbol: "diamond",
        offset: 8,
      }),
    ],
  });
}

const cross = "path://M0,2L2,0L6,4L10,0L12,2L8,6L12,10L10,12L6,8L2,12L0,10L4,6Z";

interface MarkStyle {
  readonly color: string;
  readonly symbol: string;
  readonly offset: number;
}

function marks(name: string, data: [number, string][], { color, symbol, offset }: MarkStyle): object {
  const itemStyle = { borderColor: "#ffffff", borderWidth: 1 };
  return { name, type: "scatter", symbol, symbolSize: 12, symbolOffset: [offset, 0], color, itemStyle, data, z: 5 };
}
