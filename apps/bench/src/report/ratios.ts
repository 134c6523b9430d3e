/** Holdfast's throughput as a ratio to the best peer. */
import type { Contender } from "../contenders/contender.ts";
import type { Quartiles } from "../measure/statistics.ts";
import { uncontended } from "../workloads/uncontended.ts";
import { cellName, measuredCells } from "./cells.ts";
import type { CellName, Summary } from "./summary.ts";
import { alignedText, quartilesText } from "./text.ts";

/** A contender of Holdfast, and the peers that it is compared with. */
interface Comparison {
  readonly contender: string;
  readonly title: string;
  /** The peers' client; any, if undefined. */
  readonly client?: Contender["client"];
}

export const comparisons: readonly Comparison[] = [
  { contender: "holdfast/ioredis", title: "holdfast/ioredis ÷ best peer over ioredis", client: "ioredis" },
  { contender: "holdfast/node-redis", title: "holdfast/node-redis ÷ best peer over any client" },
];

/** A ratio to a peer. */
export interface PeerRatio extends Quartiles {
  readonly peer: Contender;
}

/** Compares pairs a second in a cell with those of the best peer. */
export function peerRatio(
  summary: Summary,
  at: CellName,
  { contender, client }: Omit<Comparison, "title">,
): PeerRatio | undefined {
  const peer = summary.bestPeer(at, "pairsPerSecond", client);
  const ratio = peer && summary.ratio(at, contender, peer.name, "pairsPerSecond");
  return ratio && { ...ratio, peer };
}

/** A table with rows for numbers of servers, columns for numbers of locks at a time, and a head. */
function ratioRows(summary: Summary, comparison: Comparison): string[][] {
  const measured = measuredCells(uncontended, summary);
  const columns = [...new Set(measured.map(({ atATime }) => atATime))];
  const rows = [...new Set(measured.map(({ servers }) => servers))].map((servers) => [
    String(servers),
    ...columns.map((atATime) => {
      const cell = measured.find((one) => one.servers === servers && one.atATime === atATime);
      return quartilesText(cell && peerRatio(summary, cellName(uncontended, cell), comparison), { format: "ratio" });
    }),
  ]);
  return rows.length === 0
    ? []
    : [["servers", ...columns.map((count) => `${count.toLocaleString("en")} at a time`)], ...rows];
}

/** The ratios as text for a terminal; empty if nothing uncontended was measured. */
export function ratioLines(summary: Summary): string {
  return comparisons
    .map((comparison) => ({ ...comparison, rows: ratioRows(summary, comparison) }))
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => `${title}: median (quartiles) of the ratio in each round\n${alignedText(rows)}`)
    .join("\n\n");
}
