/** A line of time on which quiet stretches are compressed, so that messages of one millisecond and pauses of seconds fit. */
export type TimeScale = ReturnType<typeof timeScale>;

/**
 * Returns a scale on which the space between two neighbouring steps grows with the logarithm of the time between them.
 *
 * @param steps the moments at which something happens, sorted
 * @example
 * const scale = timeScale([0, 1, 2000]);
 * scale.positionOf(1000); // in the middle of the last stretch
 */
export function timeScale(steps: readonly number[]) {
  return scaleOf(steps, gapsOf(steps));
}

/**
 * Returns a scale on which each part of the line has a length of its own. Within a part, quiet stretches are compressed.
 *
 * @param steps the moments at which something happens, sorted
 * @param parts where the parts start, sorted from the first step on, and how long they are
 */
export function partedScale(
  steps: readonly number[],
  parts: readonly { readonly fromMs: number; readonly lengthPx: number }[],
): TimeScale {
  const starts = parts.map(({ fromMs }) => fromMs);
  const moments = [...new Set([...steps, ...starts])].sort((a, b) => a - b);
  const gaps = gapsOf(moments);
  const partOf = gaps.map((_, index) => lastIndexUpTo(starts, moments[index] ?? 0));
  const sums = parts.map(() => 0);
  for (const [index, part] of partOf.entries()) sums[part] = (sums[part] ?? 0) + (gaps[index] ?? 0);
  const lengthOf = (gap: number, index: number): number => {
    const part = partOf[index] ?? 0;
    return (gap / (sums[part] ?? gap)) * (parts[part]?.lengthPx ?? 0);
  };
  return scaleOf(moments, gaps.map(lengthOf));
}

/** Returns the widths of the stretches between neighbours. */
function gapsOf(moments: readonly number[]): readonly number[] {
  return moments.slice(1).map((atMs, index) => widthOf(atMs - (moments[index] ?? 0)));
}

function scaleOf(steps: readonly number[], gaps: readonly number[]) {
  const positions = [0];
  let lengthPx = 0;
  for (const gap of gaps) {
    lengthPx += gap;
    positions.push(lengthPx);
  }
  return {
    /** The length of the line, in pixels. */
    lengthPx,
    /** Returns the position of a moment on the line. */
    positionOf: (atMs: number) => interpolate(atMs, steps, positions),
    /** Returns the moment at a position. */
    timeAt: (positionPx: number) => interpolate(positionPx, positions, steps),
  };
}

/** Returns the width of a stretch without events, in pixels: short ones are nearly linear, long ones logarithmic. */
function widthOf(gapMs: number): number {
  return 26 * (1 - Math.exp(-gapMs / 0.8)) + 9 * Math.log2(1 + gapMs);
}

/** Returns how many of the items, which are sorted by their values, are not above a value. */
export function countUpTo<T>(sorted: readonly T[], value: number, numberOf: (item: T) => number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numberOf(sorted[middle] as T) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the last entry that is not above the value; 0 if all are. */
export function lastIndexUpTo(sorted: readonly number[], value: number): number {
  return Math.max(0, countUpTo(sorted, value, (entry) => entry) - 1);
}

function interpolate(value: number, from: readonly number[], to: readonly number[]): number {
  const index = lastIndexUpTo(from, value);
  const [fromStart = 0, toStart = 0] = [from[index], to[index]];
  const [fromEnd = fromStart, toEnd = toStart] = [from[index + 1], to[index + 1]];
  if (fromEnd === fromStart) return toStart;
  const part = Math.min(1, Math.max(0, (value - fromStart) / (fromEnd - fromStart)));
  return toStart + part * (toEnd - toStart);
}
