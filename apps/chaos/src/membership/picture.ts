import { svgOf } from "@holdfast/app-kit/chart";
import type { Band } from "../history/visit.ts";
import { type Bar, bars, right, width } from "../report/bars.ts";
import { type Chronicle, operatorLane } from "./chronicle.ts";

const laneHeight = 22;
const left = 64;
const top = 14;
const curveHeight = 130;
const gap = 46;
const bottom = 46;
const colors = { inUse: "#a9c4e4", step: "#7c3aed", fault: "#f6a768", ink: "#1f2937" };
const epochColors = ["#4c78a8", "#9ecae9", "#54a24b", "#b6dfa8", "#b279a2"];

/** The width of a column of the curve, in milliseconds. */
const bucketMs = 1_000;

/** Draws a run: which servers were in use and struck when, and how many locks clients of each epoch were granted. */
export function pictureOf({ fromMs, granted, bands, duties }: Chronicle): string {
  const toMs = granted.reduce((latest, { grantedAtMs }) => Math.max(latest, grantedAtMs), fromMs);
  const servers = [...new Set(duties.map(({ lane }) => lane).filter((lane) => lane !== operatorLane))];
  const clients = "clients";
  const lanes = [operatorLane, ...servers, clients];
  const barOf = ({ lane, label, ...band }: Band): Bar => [
    lanes.includes(lane) ? lane : clients,
    Math.max(0, band.fromMs - fromMs),
    Math.min(band.toMs, toMs) - fromMs,
    lanes.includes(lane) ? label : "",
  ];
  const during = bands.filter((band) => band.fromMs < toMs);
  const height = top + lanes.length * laneHeight + gap + curveHeight + bottom;
  const seconds = Math.ceil((toMs - fromMs) / bucketMs);
  const time = { type: "value", min: 0, max: seconds * bucketMs, splitNumber: 12 };
  const lanesHeight = lanes.length * laneHeight;
  return svgOf(width, height, {
    grid: [
      { left, right, top, height: lanesHeight },
      { left, right, top: top + lanesHeight + gap, height: curveHeight },
    ],
    legend: { bottom: 0, left: left - 4, itemWidth: 12, itemHeight: 11, itemGap: 16, textStyle: { fontSize: 11 } },
    xAxis: [
      { ...time, gridIndex: 0, axisLabel: { show: false } },
      { ...time, gridIndex: 1, axisLabel: { formatter: (ms: number) => `${ms / 1_000} s` } },
    ],
    yAxis: [
      { type: "category", data: lanes, inverse: true, axisLine: { show: false }, splitArea: { show: true } },
      { type: "value", gridIndex: 1, name: "locks a second", nameTextStyle: { align: "left" }, splitNumber: 3 },
    ],
    series: [
      bars("server in use", duties.filter(({ lane }) => lane !== operatorLane).map(barOf), {
        ...{ color: colors.inUse, height: 16, ink: colors.ink },
      }),
      bars("step of a change", duties.filter(({ lane }) => lane === operatorLane).map(barOf), {
        ...{ color: colors.step, height: 16, ink: "#ffffff", labels: "inside or beside" },
      }),
      bars("fault", during.map(barOf), {
        ...{ color: colors.fault, height: 12, ink: colors.ink, labels: "inside or beside" },
      }),
      ...curvesOf(granted, fromMs, seconds),
    ],
  });
}

/** How many locks were granted in each second, by epoch, on top of each other. */
function curvesOf(granted: Chronicle["granted"], fromMs: number, buckets: number): object[] {
  const epochs = [...new Set(granted.map(({ epoch }) => epoch))].sort((a, b) => a - b);
  return epochs.map((epoch, index) => {
    const counts = new Array<number>(buckets).fill(0);
    for (const lock of granted) {
      const bucket = Math.floor((lock.grantedAtMs - fromMs) / bucketMs);
      if (lock.epoch === epoch && bucket >= 0 && bucket < buckets) counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    return {
      ...{ name: `locks of epoch ${epoch}`, type: "line", stack: "locks", symbol: "none", lineStyle: { width: 0 } },
      ...{ xAxisIndex: 1, yAxisIndex: 1, color: epochColors[index % epochColors.length], areaStyle: { opacity: 0.9 } },
      data: counts.map((count, bucket) => [(bucket + 0.5) * bucketMs, count]),
    };
  });
}
