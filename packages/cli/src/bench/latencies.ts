import { createHistogram } from "node:perf_hooks";

/** The distribution of many latencies. */
export interface LatencySummary {
  readonly minMs: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The histogram, from the first to the last bucket that is not empty. */
  readonly buckets: readonly Bucket[];
}

/** The number of latencies of at least `fromMs` and less than `toMs`. */
export interface Bucket {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/** Counts any number of latencies in constant memory. */
export interface Latencies {
  readonly count: number;
  record(ms: number): void;
  /** Returns the distribution; null if nothing was recorded. */
  summary(): LatencySummary | null;
}

/** The bounds of the buckets: 1, 2 and 5 of each power of ten, from a hundredth of a millisecond to a minute. */
const bounds: readonly number[] = [
  0,
  ...[-2, -1, 0, 1, 2, 3, 4].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)),
];

/** Creates an empty count of latencies. */
export function createLatencies(): Latencies {
  const histogram = createHistogram();
  const counts = bounds.map(() => 0);
  const inMs = (ns: number): number => ns / 1e6;
  return {
    get count() {
      return histogram.count;
    },
    record(ms) {
      histogram.record(Math.max(1, Math.round(ms * 1e6)));
      const index = bounds.findLastIndex((bound) => bound <= ms);
      counts[index] = (counts[index] ?? 0) + 1;
    },
    summary() {
      if (histogram.count === 0) return null;
      return {
        minMs: inMs(histogram.min),
        medianMs: inMs(histogram.percentile(50)),
        p99Ms: inMs(histogram.percentile(99)),
        maxMs: inMs(histogram.max),
        buckets: bucketsOf(counts),
      };
    },
  };
}

function bucketsOf(counts: readonly number[]): Bucket[] {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  return counts.slice(first, last + 1).map((count, offset) => {
    const [fromMs, toMs] = [bounds[first + offset] ?? 0, bounds[first + offset + 1] ?? Infinity];
    return { fromMs: Number(fromMs.toPrecision(1)), toMs: Number(toMs.toPrecision(1)), count };
  });
}
