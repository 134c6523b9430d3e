/** The part of the page about the cells in which Holdfast is slower. */
import { valueText } from "@holdfast/app-kit/charts";
import type { MeasureName } from "../measure/measures.ts";
import { roundTrips, uncontended } from "../workloads/uncontended.ts";
import { cellName, measuredCells } from "./cells.ts";
import { comparisons, peerRatio } from "./ratios.ts";
import type { Summary } from "./summary.ts";
import { quartilesText, tableText, wrapped } from "./text.ts";

const ratioFormat = { format: "ratio" } as const;

/** Why Holdfast may be slower, by the part that takes more processor time than the other library does. */
const reasons = {
  client:
    "**The client**: for each lock, Holdfast reads two clocks, sets a timer for the end of the validity, checks each reply, " +
    "and agrees on the token. A library that promises less runs less JavaScript.",
  servers:
    "**The servers**: each of them reads, raises and keeps a counter beside the lock, in a script. A library without tokens " +
    "sends one `SET`. Operations of one tick share a script call, which makes up for it, but a single operation has none " +
    "to share with. “raw ioredis, fenced” above is the same bound without a library.",
};

/** The cells in which even the upper quartile of the ratio is below 1. */
export function slowerPart(summary: Summary): string[] {
  const cells = [roundTrips, uncontended].flatMap((workload) =>
    measuredCells(workload, summary).map((cell) => cellName(workload, cell)),
  );
  if (cells.length === 0) return [];
  const found = new Set<keyof typeof reasons>();
  const rows = cells.flatMap((at) =>
    comparisons.flatMap((comparison) => {
      const ratio = peerRatio(summary, at, comparison);
      if (ratio === undefined || ratio.high >= 1) return [];
      const cpu = (measure: MeasureName): [number, number] => [
        summary.value(at, comparison.contender, measure)?.median ?? Number.NaN,
        summary.value(at, ratio.peer.name, measure)?.median ?? Number.NaN,
      ];
      const [client, servers] = [cpu("clientCpuUs"), cpu("serverCpuUs")];
      const reason = client[0] - client[1] > servers[0] - servers[1] ? "client" : "servers";
      found.add(reason);
      const texts = [client, servers].map((pair) =>
        pair.map((value) => valueText(value, "digits")).join(" instead of "),
      );
      return [
        [at.cell, comparison.contender, `${quartilesText(ratio, ratioFormat)} of ${ratio.peer.name}`, ...texts, reason],
      ];
    }),
  );
  const title = "## Where Holdfast is slower, and why";
  if (rows.length === 0) return [title, "In no cell of this run."];
  const head = ["cell", "library", "pairs/s", "client CPU µs", "servers CPU µs", "mostly"];
  return [title, tableText(head, rows, "text"), ...[...found].map((reason) => wrapped(reasons[reason]))];
}
