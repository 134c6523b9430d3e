import { shortMs } from "../output/format.ts";
import { colors } from "../output/print.ts";
import type { Terminal } from "../output/terminal.ts";
import type { Bucket } from "./latencies.ts";
import type { LoadResult } from "./run-load.ts";

/** The width of the bounds and the share beside the bar. */
const othersWidth = 30;
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Formats the figures of one load, and a histogram of its latencies. */
export function renderLoad(result: LoadResult, terminal: Terminal): string {
  const { concurrency, isContended, latency, pairsPerSecond, pairs, failures } = result;
  const what = colors.bold(`${concurrency} at once${isContended ? ", all for one lock" : ""}`);
  const failed = Object.entries(failures).map(([code, count]) => colors.red(`  failed: ${code}, ${count} times`));
  if (latency === null) return [`${what}: no lock was acquired and released`, ...failed].join("\n");
  const { medianMs, p99Ms, maxMs, buckets } = latency;
  const times = `median ${shortMs(medianMs)}, 99% ${shortMs(p99Ms)}, longest ${shortMs(maxMs)}`;
  const rate = Math.round(pairsPerSecond).toLocaleString("en-US");
  return [`${what}: ${rate} a second; ${times}`, ...histogram(buckets, pairs, terminal), ...failed].join("\n");
}

function histogram(buckets: readonly Bucket[], all: number, { width, isUnicode }: Terminal): string[] {
  const most = Math.max(...buckets.map(({ count }) => count));
  const bar = (count: number): string => barOf((count / most) * (width - othersWidth), isUnicode);
  return buckets.map(({ fromMs, toMs, count }) => {
    const range = `${String(fromMs).padStart(6)} - ${`${toMs} ms`.padEnd(8)}`;
    const share = `${((count / all) * 100).toFixed(1)}%`.padStart(6);
    return `${range} ${share}  ${colors.cyan(bar(count))}`.trimEnd();
  });
}

/** Returns a bar of this length, which is never empty unless the length is 0. */
function barOf(length: number, isUnicode: boolean): string {
  if (length === 0) return "";
  if (!isUnicode) return "#".repeat(Math.max(1, Math.round(length)));
  const parts = Math.max(1, Math.round(length * eighths.length));
  return "█".repeat(Math.floor(parts / eighths.length)) + (eighths[parts % eighths.length] ?? "");
}
