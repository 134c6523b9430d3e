import type { Timeline, TimelineBar, TimelineChart } from "@holdfast/app-kit/charts";
import type { Band } from "../history/visit.ts";
import { type Chronicle, operatorLane } from "./chronicle.ts";

/** The title of the picture. */
export const pictureTitle = "The servers in use, the faults, and the locks in each second";

/** The width of a column of the curve, in milliseconds. */
const intervalMs = 1_000;

const stageColors = ["curve-1", "curve-2", "curve-3", "curve-4", "curve-5"] as const;

/** Shows a run: which servers were in use and struck when, and how many locks clients of each stage were granted. */
export function pictureOf({ fromMs, granted, bands, duties }: Chronicle): TimelineChart {
  const toMs = granted.reduce((latest, { grantedAtMs }) => Math.max(latest, grantedAtMs), fromMs);
  const servers = [...new Set(duties.map(({ lane }) => lane).filter((lane) => lane !== operatorLane))];
  const clients = "clients";
  const lanes = [operatorLane, ...servers, clients];
  const barOf = ({ lane, label, ...band }: Band): TimelineBar => ({
    lane: lanes.includes(lane) ? lane : clients,
    fromMs: Math.round(Math.max(0, band.fromMs - fromMs)),
    toMs: Math.round(Math.min(band.toMs, toMs) - fromMs),
    ...(lanes.includes(lane) && { label }),
  });
  const intervals = Math.ceil((toMs - fromMs) / intervalMs);
  return {
    ...{ type: "timeline", file: "timeline.svg", title: pictureTitle },
    description: "Three servers become five, and then five others, under load and under faults.",
    timeline: {
      lanes,
      lastsMs: intervals * intervalMs,
      bars: [
        {
          ...{ name: "server in use", color: "duty", height: "usual" },
          bars: duties.filter(({ lane }) => lane !== operatorLane).map(barOf),
        },
        {
          ...{ name: "step of a change", color: "step", height: "usual", labels: "inside or beside" },
          bars: duties.filter(({ lane }) => lane === operatorLane).map(barOf),
        },
        {
          ...{ name: "fault", color: "fault", height: "low", labels: "inside or beside" },
          bars: bands.filter((band) => band.fromMs < toMs).map(barOf),
        },
      ],
      curves: { title: "locks a second", intervalMs, curves: curvesOf(granted, fromMs, intervals) },
    },
  };
}

/** How many locks were granted in each second, by stage. */
function curvesOf(
  granted: Chronicle["granted"],
  fromMs: number,
  intervals: number,
): NonNullable<Timeline["curves"]>["curves"] {
  const stages = [...new Set(granted.map(({ stage }) => stage))].sort();
  return stages.map((stage, index) => {
    const counts = new Array<number>(intervals).fill(0);
    for (const lock of granted) {
      const interval = Math.floor((lock.grantedAtMs - fromMs) / intervalMs);
      if (lock.stage === stage && interval >= 0 && interval < intervals) counts[interval] = (counts[interval] ?? 0) + 1;
    }
    return { name: `locks of ${stage}`, color: stageColors[index % stageColors.length] ?? "curve-1", counts };
  });
}
